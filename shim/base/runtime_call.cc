// SPDX-License-Identifier: Apache-2.0
#include "shim/base/runtime_call.h"

namespace cuvmm::shim {

// The thread's state holds a copy, not a pointer to the wrapper's frame, because a program may
// leave that frame by longjmp.
const RuntimeCall* entered_runtime_call() noexcept {
  RuntimeCall& call = t_state.runtime;
  // Stacks grow down: the slot of a wrapper that has not returned lies above this frame, and still
  // holds its return address.
  const std::uintptr_t* const slot = call.caller.slot;
  const auto* const here = static_cast<const std::uintptr_t*>(__builtin_frame_address(0));
  if (slot > here && *slot == call.caller.return_address) return &call;
  call = {};
  t_state.in_runtime = false;
  return nullptr;
}

const Caller& caller_of_runtime(const Caller& direct) noexcept {
  const RuntimeCall* const runtime = entered_runtime_call();
  // NOLINTNEXTLINE(bugprone-return-const-ref-from-parameter): callers hold it
  return runtime ? runtime->caller : direct;
}

RuntimeScope::RuntimeScope(const RuntimeCall& call) noexcept : outermost_(!runtime_call()) {
  if (!outermost_) return;
  t_state.runtime = call;
  t_state.in_runtime = call.name != nullptr;
}

RuntimeScope::~RuntimeScope() {
  if (!outermost_) return;
  t_state.in_runtime = false;
  t_state.runtime = {};
}

}  // namespace cuvmm::shim
