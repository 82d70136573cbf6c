// SPDX-License-Identifier: Apache-2.0
// Words of 64 bits in memory that several processes see: each is read and written as one.
#pragma once

#include <cstdint>

namespace cuvmm::recorder {

inline std::uint64_t load(const std::uint64_t& word) noexcept {
  return __atomic_load_n(&word, __ATOMIC_RELAXED);
}
inline void store(std::uint64_t& word, std::uint64_t value) noexcept {
  __atomic_store_n(&word, value, __ATOMIC_RELAXED);
}

/// Between stores, and between loads, that must keep their order. ThreadSanitizer knows no fences;
/// all accesses are atomic, so it has nothing to say without them.
inline void fence(int order) noexcept {
#if defined(__SANITIZE_THREAD__)
  static_cast<void>(order);
  __asm__ volatile("" ::: "memory");
#else
  __atomic_thread_fence(order);
#endif
}

}  // namespace cuvmm::recorder
