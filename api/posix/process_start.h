// SPDX-License-Identifier: Apache-2.0
// When a process began: a pid comes back, and with this it is told from the one before.
#pragma once

#include <cstdint>

namespace cuvmm {

/// In the kernel's clock ticks since boot; 0 where there is no such process. `process`: "self" or a
/// pid in decimal. Async-signal-safe.
std::uint64_t process_start(const char* process) noexcept;

/// The `cuvmm run` that this process belongs to (CUVMM_RUN, "PID-START"); 0 where there is none.
struct RunId {
  std::uint64_t pid = 0, start = 0;
  bool operator==(const RunId&) const = default;
};
RunId run_of_this_process() noexcept;

/// The number of the pid namespace of this process: in another one a pid means another process. 0
/// where the kernel does not tell.
std::uint64_t pid_namespace() noexcept;

}  // namespace cuvmm
