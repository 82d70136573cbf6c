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
  std::uint64_t tracked = 0;   ///< with arguments into it
  std::uint64_t hidden = 0;    ///< whose layout the driver does not tell
  std::uint64_t dropped = 0;   ///< uses that were forgotten before they were known to be over
  /// Uses that went well by luck: nothing ordered them, but the driver said that the work was over.
  /// Not counted are copies and fills on default streams: they may have waited for themselves.
  std::uint64_t lucky = 0;
};

}  // namespace cuvmm::shim
