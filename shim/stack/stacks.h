// SPDX-License-Identifier: Apache-2.0
// Call stacks as small numbers: captured in tens of nanoseconds where a loop calls again from the
// same place, interned, and made readable only when a report needs them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "shim/base/caller.h"

namespace cuvmm::shim {

/// 1-based; 0 is "no stack".
using StackId = std::uint32_t;

inline constexpr std::size_t kMaxFrames = 48;

/// The id of the calling thread's stack from `caller` outwards. 0 when the memory for stacks is
/// used up. Thread-safe; takes a lock only for a stack that this thread has not seen lately.
[[gnu::hot]] StackId capture_stack(const Caller& caller) noexcept;

/// The same without the NVTX ranges that the thread is in: equal for all passes of a loop.
StackId capture_stack_alone(const Caller& caller) noexcept;

/// The NVTX ranges that the thread was in (shim/nvtx/ranges.h), 0 none.
std::uint32_t stack_ranges(StackId id) noexcept;

/// The return addresses of a stack, innermost first. Valid for ever.
std::span<const std::uintptr_t> stack_frames(StackId id) noexcept;

/// The Python functions that the thread was in, innermost first, as words of
/// shim/stack/python/names.h. Empty where there was no interpreter. Valid for ever.
std::span<const std::uintptr_t> stack_python(StackId id) noexcept;

/// The return address of the call itself; 0 where there is no stack.
inline std::uintptr_t call_site(StackId id) noexcept {
  const auto frames = stack_frames(id);
  return frames.empty() ? 0 : frames.front();
}

/// How many different stacks are stored, and how many did not fit.
struct StackCounts {
  std::size_t stored = 0;
  std::size_t dropped = 0;
};
StackCounts stack_counts() noexcept;

/// How many frames are kept of stacks captured from here on: 1 (the call site alone, which needs no
/// unwinding) to kMaxFrames, the default.
void limit_stacks(std::size_t frames) noexcept;

/// Which of the locks behind stacks the calling thread took to fork. It does not take one that a
/// signal handler which forks interrupted it under: that one stays locked in the parent.
struct StackLocks {
  bool ranges = false, memory = false, python_names = false, table = false;
};
/// Around fork, so that the child finds the tables unlocked and whole. The child lets go of all.
StackLocks lock_stacks() noexcept;
void unlock_stacks(const StackLocks& taken) noexcept;

}  // namespace cuvmm::shim
