// SPDX-License-Identifier: Apache-2.0
// Words of 64 bits in memory that several processes map. Each word is read and written at once.
#pragma once

#include <cstdint>

namespace cuvmm::recorder {

inline std::uint64_t load(const std::uint64_t& word) noexcept {
  return __atomic_load_n(&word, __ATOMIC_RELAXED);
}
inline void store(std::uint64_t& word, std::uint64_t value) noexcept {
  __atomic_store_n(&word, value, __ATOMIC_RELAXED);
}

/// Keeps the order of stores, or of loads, before and after it. ThreadSanitizer does not know
/// fences; it reports nothing without them, because all accesses are atomic.
inline void fence(int order) noexcept {
#if defined(__SANITIZE_THREAD__)
  static_cast<void>(order);
  __asm__ volatile("" ::: "memory");
#else
  __atomic_thread_fence(order);
#endif
}

}  // namespace cuvmm::recorder
