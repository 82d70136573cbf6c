// SPDX-License-Identifier: Apache-2.0
// /proc/self/maps: which object lies at which address of this process, without a lock of the
// loader.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cuvmm::shim {

/// The file's text; empty if /proc cannot be read. Opens one descriptor meanwhile; the function is
/// no cancellation point.
std::string read_proc_maps();

/// A mapping, from one line of the text.
struct ProcMapping {
  std::uint64_t low, high;       ///< [low, high)
  std::string_view permissions;  ///< as "r-xp"
  std::uint64_t offset;          ///< the mapping's begin in the file
  std::string_view path;  ///< in the text; ends with " (deleted)" if the file was deleted; "" if no
                          ///< file is mapped
};

/// Takes lines from the front of `maps` up to and including the next mapping. nullopt at the end.
std::optional<ProcMapping> next_mapping(std::string_view& maps);
/// next_mapping() for the next mapping of a file.
std::optional<ProcMapping> next_file_mapping(std::string_view& maps);

}  // namespace cuvmm::shim
