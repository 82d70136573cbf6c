// SPDX-License-Identifier: Apache-2.0
#include "fuzz/finding/last_programs.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace cuvmm::fuzz {

std::size_t write_programs(const std::vector<std::vector<std::uint8_t>>& programs,
                           const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  std::size_t written = 0;
  for (const auto& bytes : programs) {
    char name[8];
    std::snprintf(name, sizeof name, "/%02zu", written % 100);
    std::ofstream file(folder + name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    if (!file.flush()) break;
    ++written;
  }
  return written;
}

}  // namespace cuvmm::fuzz
