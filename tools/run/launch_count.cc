// SPDX-License-Identifier: Apache-2.0
#include "tools/run/launch_count.h"

#include <algorithm>
#include <fstream>

namespace cuvmm::tools {

LaunchCount::LaunchCount() {
  if (folder_.path().empty()) return;
  const std::string path = folder_.path() + "/launches";
  const std::uint64_t zero = 0;
  std::ofstream file(path, std::ios::binary);
  if (file.write(reinterpret_cast<const char*>(&zero), sizeof zero).flush()) path_ = path;
}

std::uint64_t LaunchCount::read() const {
  std::uint64_t count = 0;
  std::ifstream file(path_, std::ios::binary);
  return file.read(reinterpret_cast<char*>(&count), sizeof count) ? count : 0;
}

std::vector<std::string> LaunchCount::need_driver() const { return lines(0); }
std::vector<std::string> LaunchCount::not_emulated() const { return lines('\t'); }
std::vector<std::string> LaunchCount::checked_kernels() const { return lines('\v'); }

// emulator/base/run_file.h has the marks.
std::vector<std::string> LaunchCount::lines(char mark) const {
  constexpr std::size_t kMost = 1024;
  std::vector<std::string> names;
  std::ifstream lines(path_, std::ios::binary);
  lines.seekg(sizeof(std::uint64_t));
  for (std::string line; names.size() < kMost && std::getline(lines, line);) {
    const bool marked = line.starts_with('\t') || line.starts_with('\v');
    if ((marked ? line[0] : 0) != mark) continue;
    std::string name = line.substr(marked ? 1 : 0);
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace cuvmm::tools
