#include "tools/process_report.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "spec/rule.h"

namespace cuvmm {

namespace {

bool known_kind(const std::string& kind) {
  for (RuleKind known :
       {RuleKind::kError, RuleKind::kUndefined, RuleKind::kLeak, RuleKind::kAdvice}) {
    if (kind == name(known)) return true;
  }
  return false;
}

bool has_string(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string();
}

std::string counts_problem(const Json& report, const char* key) {
  const auto counts = report.find(key);
  if (counts == report.end()) return "";
  if (!counts->is_object()) return std::string("\"") + key + "\" is no object";
  for (const auto& [name, count] : counts->items()) {
    if (!count.is_number_unsigned()) {
      return std::string("\"") + key + "\": \"" + name + "\" is no count";
    }
  }
  return "";
}

std::string finding_problem(const Json& finding) {
  if (!finding.is_object()) return "is no object";
  for (const char* key : {"rule", "kind", "call", "message"}) {
    if (!has_string(finding, key)) return std::string("has no string \"") + key + "\"";
  }
  if (!known_kind(finding["kind"])) return "has an unknown \"kind\"";
  const auto count = finding.find("count");
  if (count == finding.end() || !count->is_number_unsigned() || *count == 0u) {
    return "has no \"count\" of 1 or more";
  }
  return "";
}

std::string problem(const Json& report) {
  if (report.is_discarded()) return "no complete JSON (torn, or not UTF-8)";
  if (!report.is_object()) return "no JSON object";
  const auto schema = report.find("schema");
  if (schema == report.end() || *schema != kReportSchema) {
    return "\"schema\" is not " + std::to_string(kReportSchema);
  }
  const auto driver = report.find("driver");
  if (driver != report.end() && !driver->is_null() && !driver->is_object()) {
    return "\"driver\" is no object";
  }
  for (const char* key : {"calls", "summary", "alive"}) {
    if (std::string text = counts_problem(report, key); !text.empty()) return text;
  }
  if (report.contains("suppressed") && !report["suppressed"].is_number_unsigned()) {
    return "\"suppressed\" is no count";
  }
  for (const char* key : {"unchecked", "findings"}) {
    if (report.contains(key) && !report[key].is_array())
      return std::string("\"") + key + "\" is no array";
  }
  if (!report.contains("findings")) return "\"findings\" is missing";
  std::size_t index = 0;
  for (const Json& finding : report["findings"]) {
    const std::string text = finding_problem(finding);
    if (!text.empty()) return "finding " + std::to_string(index) + " " + text;
    ++index;
  }
  return "";
}

std::int64_t pid_of(const Json& report, const std::string& path) {
  const auto own = report.find("pid");
  if (own != report.end() && own->is_number_unsigned()) return own->get<std::int64_t>();
  const std::string file = std::filesystem::path(path).filename();
  std::int64_t pid = 0;
  const auto result = std::from_chars(file.data(), file.data() + file.size(), pid);
  return result.ec == std::errc{} && pid > 0 ? pid : 0;
}

}  // namespace

ProcessReport parse_process_report(const std::string& text, const std::string& path) {
  ProcessReport result;
  Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (const std::string why = problem(value); !why.empty()) {
    result.error = path + ": " + why;
    return result;
  }
  result.pid = pid_of(value, path);
  result.value = std::move(value);
  return result;
}

ProcessReport read_process_report(const std::string& path) {
  const auto refused = [&](const std::string& why) {
    return ProcessReport{0, {}, path + ": " + why};
  };
  // No links, pipes or devices: the folder's content is written by programs that are not trusted.
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

}  // namespace cuvmm
