// SPDX-License-Identifier: Apache-2.0
// Call stacks as small numbers: captured in tens of nanoseconds if a loop calls again from one
// place, stored once, and made readable only when a report needs them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "shim/base/caller.h"
#include "shim/stack/stack_id.h"

namespace cuvmm::shim {

/// The id of the calling thread's stack from `caller` outwards; 0 if the memory for stacks is used
/// up. Thread-safe; takes a lock only for a stack that this thread has not captured lately.
[[gnu::hot]] StackId capture_stack(const Caller& caller) noexcept;

/// capture_stack() and note_function(), for a call that makes or ends an object. Each `function`
/// has one name, which lives as long as the process.
[[gnu::hot]] StackId capture_maker(const Caller& caller, FunctionTag function,
                                   const char* name) noexcept;

/// capture_stack() without the NVTX ranges that the thread is in: equal for all passes of a loop.
StackId capture_stack_alone(const Caller& caller) noexcept;

/// The NVTX ranges that the thread was in (shim/nvtx/ranges.h), 0 none.
std::uint32_t stack_ranges(StackId id) noexcept;

/// The return addresses of a stack, innermost first. The span is valid as long as the process
/// lives.
std::span<const std::uintptr_t> stack_frames(StackId id) noexcept;

/// The Python functions that the thread was in, innermost first, as words of
/// shim/stack/python/names.h. Empty if there was no interpreter. The span is valid as long as the
/// process lives.
std::span<const std::uintptr_t> stack_python(StackId id) noexcept;

/// The return address of the call itself; 0 if there is no stack.
inline std::uintptr_t call_site(StackId id) noexcept {
  const auto frames = stack_frames(id);
  return frames.empty() ? 0 : frames.front();
}

/// Notes that the innermost frame of the stack called this function; `name` lives as long as the
/// process. Costs a load if that is noted already.
void note_function(StackId id, const char* name) noexcept;
/// The name that note_function() noted; "" if none was, or if several were.
const char* stack_function(StackId id) noexcept;
/// Whether note_function() noted several names.
bool called_by_several(StackId id) noexcept;

/// The number of frames of each stack that is captured from here on: 1 (only the call site, which
/// needs no unwinding) to kMaxFrames, the default.
void limit_stacks(std::size_t frames) noexcept;

/// The locks of the stacks' tables that the calling thread took to fork. A signal handler that
/// forks does not take a lock that its interrupted thread holds: that lock stays locked in the
/// parent.
struct StackLocks {
  bool ranges = false, memory = false, python_names = false, table = false;
};
/// Called around fork, so that the child finds the tables unlocked and whole. The child releases
/// all of the locks.
StackLocks lock_stacks() noexcept;
void unlock_stacks(const StackLocks& taken) noexcept;

}  // namespace cuvmm::shim
