// SPDX-License-Identifier: Apache-2.0
#include "tools/report/traces.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tools/atomic_file.h"

namespace cuvmm::tools {

namespace fs = std::filesystem;

namespace {

// Of a trace: the header line and init() are written before the first call.
constexpr int kLinesBeforeCalls = 2;

bool has_calls(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  for (int i = 0; i < kLinesBeforeCalls; ++i) std::getline(file, line);
  return static_cast<bool>(std::getline(file, line));
}

}  // namespace

std::string trace_pattern(const std::string& file) {
  if (file.empty() || file.find("%p") != std::string::npos) return file;
  return file + ".run" + std::to_string(getpid()) + "-%p";
}

std::vector<std::string> collect_traces(const std::string& file, const std::string& pattern) {
  if (file.empty() || pattern == file) return {};
  const fs::path stem = pattern.substr(0, pattern.size() - 2);  // without %p
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
    const std::string pid = trace.filename().string().substr(prefix.size());
    const fs::path target = found.size() == 1 ? file : file + "." + pid;
    const bool moved = replace_by(target.string(), trace.string()).empty();
    result.push_back(moved ? target.string() : trace.string());
  }
  return result;
}

}  // namespace cuvmm::tools
