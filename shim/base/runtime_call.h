// SPDX-License-Identifier: Apache-2.0
// The function of the CUDA runtime that a thread is in, for findings that name it.
#pragma once

#include "shim/base/thread_state.h"

namespace cuvmm::shim {

/// runtime_call() for a thread that entered a runtime function and may not have left it.
[[gnu::cold]] const RuntimeCall* entered_runtime_call() noexcept;

/// The calling thread's outermost runtime function, or null. While it is set, findings and
/// histories name the place where the program called this function, not the place where the runtime
/// library called the driver.
inline const RuntimeCall* runtime_call() noexcept {
  if (!t_state.in_runtime) [[likely]]
    return nullptr;
  return entered_runtime_call();
}

/// The place from which the program called: the function of the runtime that the thread is in, or
/// else `direct`. One call, because GCC takes all code behind a choice of two pointers for cold.
[[gnu::cold]] const Caller& caller_of_runtime(const Caller& direct) noexcept;
[[gnu::always_inline]] inline const Caller& program_caller(const Caller& direct) noexcept {
  if (!t_state.in_runtime) [[likely]]
    return direct;  // NOLINT(bugprone-return-const-ref-from-parameter): callers hold it
  return caller_of_runtime(direct);
}

/// Marks the calling thread as inside a runtime function, for its scope.
class RuntimeScope {
 public:
  explicit RuntimeScope(const RuntimeCall& call) noexcept;
  RuntimeScope(const RuntimeScope&) = delete;
  RuntimeScope& operator=(const RuntimeScope&) = delete;
  ~RuntimeScope();

 private:
  const bool outermost_;
};

}  // namespace cuvmm::shim
