// SPDX-License-Identifier: Apache-2.0
// The time when a process began. It tells two processes apart that had the same pid in turn.
#pragma once

#include <cstdint>

namespace cuvmm {

/// In the kernel's clock ticks since boot; 0 if there is no such process. `process`: "self" or a
/// pid in decimal. Async-signal-safe.
std::uint64_t process_start(const char* process) noexcept;

/// The `cuvmm run` that this process belongs to (CUVMM_RUN, "PID-START"); 0 if there is none.
struct RunId {
  std::uint64_t pid = 0, start = 0;
  bool operator==(const RunId&) const = default;
};
RunId run_of_this_process() noexcept;

/// The number of this process's pid namespace, because a pid means another process in another
/// namespace. 0 if the kernel does not say.
std::uint64_t pid_namespace() noexcept;

}  // namespace cuvmm
