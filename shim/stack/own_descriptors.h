// SPDX-License-Identifier: Apache-2.0
// Files that cuvmm reads although the program has used up its descriptors, which may be just the
// fault that a report is about.
#pragma once

#include <type_traits>

namespace cuvmm::shim {

/// A sanitizer follows threads and stacks, and knows no process that shares the memory. Under one,
/// with_descriptors() works as if descriptors were free.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kSanitized = __has_feature(address_sanitizer) ||
                                   __has_feature(thread_sanitizer) ||
                                   __has_feature(memory_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

/// Whether at least a few descriptors of the process are free. Takes none, not even for a moment.
bool has_free_descriptors() noexcept;

/// Calls `work(argument)`, which must not throw, in a process that shares all memory with this one
/// and has a table of descriptors of its own, in which only 0, 1 and 2 are open. The calling thread
/// waits meanwhile, and its thread-locals are those of `work`. In there, getpid() and gettid() are
/// other numbers, and so is /proc/self. Calls `work` here if the kernel makes no such process.
void call_with_own_descriptors(void (*work)(void*), void* argument) noexcept;

/// Calls `work()`, which must not throw: here if it can open a few files, else as above.
template <class Work>
requires std::is_nothrow_invocable_v<const Work&>
void with_descriptors(const Work& work) noexcept {
  if (has_free_descriptors()) [[likely]]
    return work();
  const auto call = [](void* argument) { (*static_cast<const Work*>(argument))(); };
  call_with_own_descriptors(call, const_cast<Work*>(&work));
}

}  // namespace cuvmm::shim
