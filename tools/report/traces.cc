// SPDX-License-Identifier: Apache-2.0
#include "tools/report/traces.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "tools/base/atomic_file.h"

namespace cuvmm::tools {

namespace fs = std::filesystem;

namespace {

// The shim chooses the format of a trace by this ending.
constexpr std::string_view kJsonLines = ".jsonl";

std::string_view ending_of(std::string_view file) {
  return file.ends_with(kJsonLines) ? kJsonLines : std::string_view();
}

bool has_calls(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  // The first line names the format; in program text, a line init() follows before the first call.
  const int before = ending_of(path.string()).empty() ? 2 : 1;
  for (int i = 0; i < before; ++i) std::getline(file, line);
  return static_cast<bool>(std::getline(file, line));
}

}  // namespace

std::string trace_pattern(const std::string& file) {
  if (file.empty() || file.find("%p") != std::string::npos) return file;
  return file + ".run" + std::to_string(getpid()) + "-%p" + std::string(ending_of(file));
}

std::vector<std::string> collect_traces(const std::string& file, const std::string& pattern) {
  if (file.empty() || pattern == file) return {};
  const std::string ending(ending_of(file));
  const fs::path stem = pattern.substr(0, pattern.size() - ending.size() - 2);  // without %p
  const std::string prefix = stem.filename().string();
  std::vector<fs::path> found;
  std::error_code error;
  const fs::path folder = stem.has_parent_path() ? stem.parent_path() : fs::path(".");
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().filename().string().rfind(prefix, 0) != 0) continue;
    if (has_calls(entry.path())) {
      found.push_back(entry.path());
    } else {
      fs::remove(entry.path(), error);
    }
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> result;
  for (const fs::path& trace : found) {
    const std::string name = trace.filename().string();
    const std::string pid = name.substr(prefix.size(), name.size() - prefix.size() - ending.size());
    const std::string whole = file.substr(0, file.size() - ending.size());
    const fs::path target = found.size() == 1 ? file : whole + "." + pid + ending;
    const bool moved = replace_by(target.string(), trace.string()).empty();
    result.push_back(moved ? target.string() : trace.string());
  }
  return result;
}

}  // namespace cuvmm::tools
