// SPDX-License-Identifier: Apache-2.0
// What the last calls of a process that has ended tell of one of its threads: whether it was still
// at work with what it had made.
#pragma once

#include <cstdint>

#include "recorder/last_calls/reading.h"
#include "tools/report/tree/process_end.h"

namespace cuvmm::tools {

/// How long a thread makes no call about memory before nobody thinks that it is between two. More
/// than it waits for a processor on a busy machine.
inline constexpr std::uint64_t kIdleNs = 500'000'000;
/// The same of a thread of which one knows how long it waited for a processor, without that.
inline constexpr std::uint64_t kIdleAwakeNs = 100'000'000;

struct Death {
  ProcessEnd end;
  bool by_itself = false;  ///< by exec, or by a bare system call: the program wanted it
  /// Number of the last call that changed something, as findings count.
  std::uint64_t last_number = 0;
  std::uint32_t first_thread = 0;  ///< of the process; 0: not known
};

enum class LastWork {
  kGaveUp,  ///< it made no call about memory for long, or many others since; or it went on to make
            ///< other memory and to use that; or it ended the program itself
  kAtWork,  ///< also where it was in such a call
  kUnknown  ///< nobody knows for how long it had made no call
};
/// Whether the thread had given up what its call `number` was the last to touch.
LastWork last_work(const last_calls::Reading& calls, const Death& death, std::uint32_t thread,
                   std::uint64_t number);

}  // namespace cuvmm::tools
