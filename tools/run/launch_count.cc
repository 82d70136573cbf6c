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

std::vector<std::string> LaunchCount::need_driver() const { return lines(false); }
std::vector<std::string> LaunchCount::not_emulated() const { return lines(true); }

// A line with the name of a function begins with a tab (emulator/base/run_file.h).
std::vector<std::string> LaunchCount::lines(bool functions) const {
  constexpr std::size_t kMost = 64;
  std::vector<std::string> names;
  std::ifstream lines(path_, std::ios::binary);
  lines.seekg(sizeof(std::uint64_t));
  for (std::string line; names.size() < kMost && std::getline(lines, line);) {
    if (line.starts_with('\t') != functions) continue;
    std::string name = line.substr(functions ? 1 : 0);
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace cuvmm::tools
