// SPDX-License-Identifier: Apache-2.0
// /proc/self/maps: what lies where in this process, without any lock of the loader's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cuvmm::shim {

/// The file's text; empty where /proc cannot be read. Opens one descriptor for the time; no
/// cancellation point.
std::string read_proc_maps();

/// A mapping, as one line of the text tells it.
struct ProcMapping {
  std::uint64_t low, high;       ///< [low, high)
  std::string_view permissions;  ///< as "r-xp"
  std::uint64_t offset;          ///< in the file
  std::string_view path;  ///< in the text; with " (deleted)" behind it where the file is gone; ""
                          ///< for what is no file
};

/// Takes lines from the front of `maps` up to and with the next mapping. Nothing at the end.
std::optional<ProcMapping> next_mapping(std::string_view& maps);
/// The same for the next mapping of a file.
std::optional<ProcMapping> next_file_mapping(std::string_view& maps);

}  // namespace cuvmm::shim
