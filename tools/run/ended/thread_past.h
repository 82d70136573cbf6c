// SPDX-License-Identifier: Apache-2.0
// Judges by the last calls of an ended process whether one of its threads was still working with
// the objects that it had made.
#pragma once

#include <cstdint>

#include "recorder/last_calls/reading.h"
#include "tools/report/tree/process_end.h"

namespace cuvmm::tools {

/// A thread that makes no call about memory for this long is idle. The time is longer than a thread
/// waits for a processor on a busy machine.
inline constexpr std::uint64_t kIdleNs = 500'000'000;
/// kIdleNs for a thread whose waiting time for a processor is known and subtracted.
inline constexpr std::uint64_t kIdleAwakeNs = 100'000'000;

struct Death {
  ProcessEnd end;
  bool by_itself =
      false;  ///< by exec, or by a bare system call: the program ended itself on purpose
  /// The process was cut off: no thread had a chance to make another call.
  bool cut = false;
  std::uint32_t own_thread = 0;  ///< the thread whose own signal ended the process; 0: none
  /// Number of the last call that changed an object, as findings count.
  std::uint64_t last_number = 0;
  std::uint32_t first_thread = 0;  ///< first thread of the process; 0 unknown
};

enum class LastWork {
  kGaveUp,  ///< no call about memory for long, or many other calls since; or it made and used other
            ///< memory; or it ended the program itself
  kAtWork,  ///< such a call had not returned; or, where the process was not cut off, it made one a
            ///< moment ago
  kUnsure,  ///< it made such a call a moment ago, was in none, and was cut off
  kUnknown  ///< the time since its last call about memory is unknown
};
/// Whether the thread had given up the object that its call `number` touched last; `value` is the
/// object's handle or address.
LastWork last_work(const last_calls::Reading& calls, const Death& death, std::uint32_t thread,
                   std::uint64_t number, std::uint64_t value);

}  // namespace cuvmm::tools
