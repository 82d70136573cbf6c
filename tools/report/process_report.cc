// SPDX-License-Identifier: Apache-2.0
#include "tools/report/process_report.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "tools/report/json_documents.h"

namespace cuvmm::tools {

namespace {

constexpr const char* kHowLost = "the disk was full, or the process was ended while it wrote it";

std::int64_t pid_of(const Json& report, const std::string& path) {
  const auto own = report.find("pid");
  if (own != report.end() && own->is_number_unsigned()) return own->get<std::int64_t>();
  const std::string file = std::filesystem::path(path).filename();
  std::int64_t pid = 0;
  const auto result = std::from_chars(file.data(), file.data() + file.size(), pid);
  return result.ec == std::errc{} && pid > 0 ? pid : 0;
}

Json parsed(std::string_view text) {
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

// The last report in a file. The process may have appended it behind an incomplete one.
struct LastReport {
  Json value = Json(Json::value_t::discarded);
  bool torn = false;  // the file also holds something that is no whole report
  std::size_t values = 0;
  std::string excess;  // the limit that the last report exceeds, so that it is not read
};

LastReport last_report(std::string_view text) {
  const JsonDocuments plain = find_json_documents(text, false);
  LastReport result;
  result.torn = plain.torn;
  result.excess = plain.excess;
  result.values = plain.values;
  if (!plain.last.empty() && plain.excess.empty()) result.value = parsed(plain.last);
  if (!plain.torn && !result.value.is_discarded()) return result;
  const JsonDocuments resumed = find_json_documents(text, true);
  const bool later = plain.last.empty() || resumed.last.data() > plain.last.data();
  if (resumed.last.empty() || (!later && !result.value.is_discarded())) return result;
  if (resumed.excess.empty()) {
    Json value = parsed(resumed.last);
    if (!value.is_discarded()) return {std::move(value), true, resumed.values, ""};
  } else if (result.value.is_discarded()) {
    result.excess = resumed.excess;
  }
  return result;
}

std::string problem(const LastReport& report, const std::string& text) {
  if (text.empty()) return std::string("is empty: ") + kHowLost;
  if (!report.excess.empty()) return "is not read: " + report.excess;
  if (report.value.is_discarded()) {
    return std::string("holds no complete JSON object (torn, or not UTF-8): ") + kHowLost;
  }
  const auto schema = report.value.find("schema");
  if (schema == report.value.end() || *schema != kReportSchema) {
    const bool other = schema != report.value.end() && schema->is_number_integer();
    return other ? fmt::format("is not read: its \"schema\" is {}, and this cuvmm reads {}",
                               schema->dump(), kReportSchema)
                 : "is no report of cuvmm in JSON, as `cuvmm run --report NAME.json` writes it";
  }
  return "";
}

}  // namespace

ProcessReport parse_process_report(const std::string& text, const std::string& path, ReportOf of) {
  ProcessReport result;
  LastReport last = last_report(text);
  result.lost = last.value.is_discarded() && last.excess.empty();
  if (const std::string why = problem(last, text); !why.empty()) {
    result.error = path + " " + why;
    result.pid = pid_of({}, path);
    return result;
  }
  for (const std::string& what : enforce_contract(last.value, of)) {
    result.problems.push_back(path + ": " + what);
  }
  if (last.torn) {
    result.problems.push_back(path + ": a part is torn (" + kHowLost +
                              "); the last whole report in it counts");
  }
  result.pid = pid_of(last.value, path);
  result.values = last.values;
  result.value = std::move(last.value);
  return result;
}

ProcessReport read_process_report(const std::string& path) {
  const auto refused = [&](const std::string& why) {
    return ProcessReport{.pid = pid_of({}, path), .error = path + ": " + why};
  };
  // Refuses links, pipes and devices, because untrusted programs write into the folder.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return refused(std::strerror(errno));
  struct stat status;
  std::string text, why;
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    why = "no regular file";
  } else if (static_cast<std::uint64_t>(status.st_size) > kLargestReport) {
    why = "larger than " + std::to_string(kLargestReport >> 20) + " MiB";
  } else {
    text.resize(static_cast<std::size_t>(status.st_size));
    std::size_t done = 0;
    for (ssize_t count = 1; count > 0 && done < text.size();
         done += static_cast<std::size_t>(count)) {
      count = read(fd, text.data() + done, text.size() - done);
      if (count < 0) {
        why = std::strerror(errno);
        break;
      }
    }
    text.resize(done);
  }
  close(fd);
  return why.empty() ? parse_process_report(text, path) : refused(why);
}

}  // namespace cuvmm::tools
