#include "shim/runtime_call.h"

namespace cuvmm::shim {

namespace {

// A copy, not a pointer to the wrapper's frame: a program may leave that by longjmp.
thread_local RuntimeCall t_call;

}  // namespace

const RuntimeCall* runtime_call() noexcept {
  if (!t_call.name) [[likely]]
    return nullptr;
  // Stacks grow down: a wrapper that has not returned lies above this frame, and its return address
  // is still in its place.
  const std::uintptr_t* const slot = t_call.caller.slot;
  const auto* const here = static_cast<const std::uintptr_t*>(__builtin_frame_address(0));
  if (slot > here && *slot == t_call.caller.return_address) return &t_call;
  t_call = {};
  return nullptr;
}

RuntimeScope::RuntimeScope(const RuntimeCall& call) noexcept : outermost_(!runtime_call()) {
  if (outermost_) t_call = call;
}

RuntimeScope::~RuntimeScope() {
  if (outermost_) t_call = {};
}

}  // namespace cuvmm::shim
