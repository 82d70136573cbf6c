// SPDX-License-Identifier: Apache-2.0
// Counts the calls by entry point, so that threads do not disturb each other.
#pragma once

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "api/calls.h"
#include "shim/base/thread_state.h"

namespace cuvmm::shim {

/// Thread-safe and exact. The first kOwned threads of the process count in a stripe of their own,
/// which needs no atomic addition; later threads share kShared stripes.
class CallCounter {
 public:
  static constexpr std::size_t kOwned = 48;
  static constexpr std::size_t kShared = 16;
  static constexpr std::size_t kStripes = kOwned + kShared;

  [[gnu::always_inline]] void add(EntryPoint entry) noexcept {
    const std::size_t mine = stripe();
    auto& count = stripes_[mine].counts[static_cast<std::size_t>(entry)];
    if (mine < kOwned) [[likely]] {
      count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    } else {
      count.fetch_add(1, std::memory_order_relaxed);
    }
  }
  std::uint64_t count(EntryPoint entry) const {
    std::uint64_t sum = 0;
    for (const Stripe& stripe : stripes_) {
      sum += stripe.counts[static_cast<std::size_t>(entry)].load(std::memory_order_relaxed);
    }
    return sum;
  }
  std::uint64_t total() const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < kEntries; ++i) sum += count(static_cast<EntryPoint>(i));
    return sum;
  }
  void clear() {
    for (Stripe& stripe : stripes_) {
      for (auto& count : stripe.counts) count.store(0, std::memory_order_relaxed);
    }
  }

 private:
  static constexpr std::size_t kEntries = static_cast<std::size_t>(EntryPoint::kCount);
  struct alignas(64) Stripe {
    std::array<std::atomic<std::uint64_t>, kEntries> counts{};
  };

  [[gnu::always_inline]] static std::size_t stripe() noexcept {
    if (t_state.stripe == 0) [[unlikely]]
      choose_stripe();
    return t_state.stripe - 1;
  }
  [[gnu::cold, gnu::noinline]] static void choose_stripe() noexcept {
    const std::size_t thread = next_.fetch_add(1, std::memory_order_relaxed);
    t_state.stripe = (thread < kOwned ? thread : kOwned + thread % kShared) + 1;
    t_state.thread = static_cast<std::uint32_t>(::gettid());
  }
  static inline std::atomic<std::size_t> next_{0};

  std::array<Stripe, kStripes> stripes_;
};

}  // namespace cuvmm::shim
