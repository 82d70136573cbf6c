// SPDX-License-Identifier: Apache-2.0
// The addresses of the objects in this process, from /proc/self/maps: needs no lock of the loader.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cuvmm::shim {

class ModuleMap {
 public:
  /// The map of the calling process. Empty if /proc cannot be read. Opens one descriptor meanwhile;
  /// the function is no cancellation point.
  static ModuleMap of_this_process();
  explicit ModuleMap(std::string maps);
  ModuleMap(const ModuleMap&) = delete;
  ModuleMap& operator=(const ModuleMap&) = delete;

  struct Place {
    std::string_view path;     ///< empty if no file is mapped there
    std::uint64_t offset = 0;  ///< from the address at which the file's first page is mapped
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
