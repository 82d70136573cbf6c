// SPDX-License-Identifier: Apache-2.0
#include "fuzz/record/recorder.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace cuvmm::fuzz {

namespace {

bool within_bound(std::string_view reason, std::uint64_t count) {
  constexpr std::string_view kBound = "at most ";
  if (!reason.starts_with(kBound)) return true;
  return count <= std::strtoull(std::string(reason.substr(kBound.size())).c_str(), nullptr, 10);
}

bool take(RecorderArguments& out, std::string_view key, const char* value) {
  const auto number = [&] { return std::strtoull(value, nullptr, 0); };
  if (key == "--driver") {
    out.record.driver = value;
  } else if (key == "--output") {
    out.record.output = value;
  } else if (key == "--calls") {
    out.record.calls = number();
  } else if (key == "--seed") {
    out.record.seed = number();
  } else if (key == "--seconds") {
    out.record.time = std::chrono::milliseconds(static_cast<std::int64_t>(1000 * std::atof(value)));
  } else if (key == "--processes") {
    out.record.processes = std::atoi(value);
  } else if (key == "--further") {
    out.record.further = number() != 0;
  } else if (key == "--profile") {
    out.record.profile = value;
  } else if (key == "--compare") {
    out.compare = value;
  } else if (key == "--abridge") {
    out.abridge = value;
  } else if (key == "--cut") {
    out.cut = number() != 0;
  } else if (key == "--every") {
    out.every = std::max<std::size_t>(1, number());
  } else if (key == "--permitted") {
    out.permitted = value;
  } else if (key == "--print") {
    out.print = value;
  } else {
    return false;
  }
  return true;
}

}  // namespace

std::string reason_of(const std::string& kind, std::uint64_t count, std::string_view permitted) {
  while (!permitted.empty()) {
    const std::size_t end = std::min(permitted.find('\n'), permitted.size());
    const std::string_view line = permitted.substr(0, end);
    permitted.remove_prefix(std::min(end + 1, permitted.size()));
    const std::size_t mark = line.find(" # ");
    if (mark == std::string_view::npos || mark == 0) continue;
    if (!kind.starts_with(line.substr(0, mark))) continue;
    const std::string_view reason = line.substr(mark + 3);
    return within_bound(reason, count) ? std::string(reason) : std::string();
  }
  return {};
}

std::optional<RecorderArguments> recorder_arguments(int argc, char** argv) {
  RecorderArguments out;
  if (argc % 2 == 0) return std::nullopt;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!take(out, argv[i], argv[i + 1])) return std::nullopt;
  }
  const int jobs = !out.record.output.empty() + !out.compare.empty() + !out.print.empty();
  if (out.compare.empty() && (!out.abridge.empty() || out.every > 1)) return std::nullopt;
  if (jobs != 1 || out.record.driver.empty() == out.print.empty()) return std::nullopt;
  return out;
}

std::string file_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream stream;
  stream << file.rdbuf();
  return stream.str();
}

int tell(const char* tool, const RecordSummary& done) {
  if (!done.error.empty()) {
    std::fprintf(stderr, "%s: %s\n", tool, done.error.c_str());
    return 3;
  }
  std::printf("%llu programs, %llu calls, %llu succeeded, %llu left out, %u restarts, %.1f s\n",
              static_cast<unsigned long long>(done.programs),
              static_cast<unsigned long long>(done.calls),
              static_cast<unsigned long long>(done.succeeded),
              static_cast<unsigned long long>(done.left_out), done.restarts, done.seconds);
  return 0;
}

void tell(const std::vector<Difference>& differences) {
  for (const Difference& d : differences) {
    std::printf("\n%llu x %s\n", static_cast<unsigned long long>(d.count), d.kind.c_str());
    if (d.reason.empty()) {
      std::printf("%s%s%s", d.example.c_str(), d.others.empty() ? "" : "others:\n",
                  d.others.c_str());
    } else {
      std::printf("  permitted: %s\n", d.reason.c_str());
    }
  }
}

}  // namespace cuvmm::fuzz
