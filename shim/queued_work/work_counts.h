// SPDX-License-Identifier: Apache-2.0
// How much of the program's work could be followed.
#pragma once

#include <cstdint>

#include "rulebook/base/violation.h"

namespace cuvmm::shim {

/// The kind of a piece of work, for these counts.
enum class Launch : unsigned char {
  kNone,    ///< no kernel
  kPlain,   ///< a kernel
  kHidden,  ///< a kernel whose layout the driver does not give
};

/// A use of memory that went well by chance: a call took the memory away, and cuvmm saw nothing
/// that orders the call behind the work.
struct UnawaitedUse {
  const char* taker = nullptr;  ///< the function that took the memory away; null: no such use
  Origin taken;
  bool on_stream = false;      ///< the taker acts in the order of a stream, as cuMemFreeAsync does
  const Work* work = nullptr;  ///< lives as long as the process
  Origin queued;
  std::uint64_t base = 0, size = 0;  ///< the bytes that the work uses; size 0: not known
};

struct WorkCounts {
  std::uint64_t launches = 0;  ///< launched while the program had memory that cuvmm follows
  /// Launches with arguments into such memory; each counts by the surest of its arguments.
  std::uint64_t tracked = 0;   ///< the sum of the next two
  std::uint64_t by_type = 0;   ///< Evidence::kByType
  std::uint64_t by_value = 0;  ///< Evidence::kByValue
  /// Launches whose only such arguments are words of structs or numbers (Evidence::kWord): counted
  /// only if Layout::hints is on.
  std::uint64_t by_word = 0;
  std::uint64_t hidden = 0;   ///< launches of kernels whose layout the driver does not give
  std::uint64_t dropped = 0;  ///< uses that cuvmm forgot before it knew that they were over
  /// Uses that went well by chance: nothing ordered them, but the driver answered that the work was
  /// over. Copies and fills on default streams are not counted, because they may have waited for
  /// themselves.
  std::uint64_t unawaited = 0;
  /// The same of copies and fills that write to page-locked memory, where the host may have seen
  /// that they were over, or may have read the bytes too early.
  std::uint64_t perhaps_unawaited = 0;
  /// Words of structs that were addresses of memory which a call took away under work that the host
  /// had not waited for. cuvmm makes no finding of them, because it does not know whether the work
  /// uses the memory.
  std::uint64_t hints = 0;
};

}  // namespace cuvmm::shim
