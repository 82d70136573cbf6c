// SPDX-License-Identifier: Apache-2.0
// Where the objects of this process lie, from /proc/self/maps: no lock of the loader's is needed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cuvmm::shim {

class ModuleMap {
 public:
  /// Of the calling process. Empty where /proc cannot be read. Opens one descriptor for the time;
  /// no cancellation point.
  static ModuleMap of_this_process();
  explicit ModuleMap(std::string maps);
  ModuleMap(const ModuleMap&) = delete;
  ModuleMap& operator=(const ModuleMap&) = delete;

  struct Place {
    std::string_view path;     ///< empty where no file lies there
    std::uint64_t offset = 0;  ///< from where the file's first page is mapped
  };
  Place find(std::uint64_t address) const;

 private:
  struct Mapping {
    std::uint64_t low, high, base;
    std::string_view path;  ///< in text_
  };
  std::string text_;
  std::vector<Mapping> mappings_;  ///< in order of their addresses
};

}  // namespace cuvmm::shim
