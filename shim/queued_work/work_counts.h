// SPDX-License-Identifier: Apache-2.0
// How much of the program's work could be followed.
#pragma once

#include <cstdint>

namespace cuvmm::shim {

/// A piece of work, for these counts.
enum class Launch : unsigned char {
  kNone,    ///< no kernel
  kPlain,   ///< a kernel
  kHidden,  ///< a kernel whose layout the driver does not tell
};

struct WorkCounts {
  std::uint64_t launches = 0;  ///< seen while there was memory that matters
  /// With arguments into it; by the surest of a launch's arguments.
  std::uint64_t tracked = 0;   ///< the sum of the next two
  std::uint64_t by_type = 0;   ///< Evidence::kByType
  std::uint64_t by_value = 0;  ///< Evidence::kByValue
  /// Words of structs or numbers alone (Evidence::kWord): noted only where hints are.
  std::uint64_t by_word = 0;
  std::uint64_t hidden = 0;   ///< whose layout the driver does not tell
  std::uint64_t dropped = 0;  ///< uses that were forgotten before they were known to be over
  /// Uses that went well by luck: nothing ordered them, but the driver said that the work was over.
  /// Not counted are copies and fills on default streams: they may have waited for themselves.
  std::uint64_t lucky = 0;
  /// Words of structs that were addresses of memory which was taken away, with work that nothing
  /// had waited for. Nobody knows whether the work uses it: no finding is made of them.
  std::uint64_t hints = 0;
};

}  // namespace cuvmm::shim
