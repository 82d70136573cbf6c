// The lock of the model: held for tens of nanoseconds, so worth a short spin before sleeping.
#pragma once

#include <atomic>
#include <cstdint>

namespace cuvmm::shim {

/// A mutex for std::lock_guard. Free, it costs one atomic exchange each way and no call.
class ModelMutex {
 public:
  void lock() noexcept {
    int state = kFree;
    if (state_.compare_exchange_strong(state, kHeld, std::memory_order_acquire,
                                       std::memory_order_relaxed)) [[likely]]
      return;
    lock_contended();
  }
  void unlock() noexcept {
    if (state_.exchange(kFree, std::memory_order_release) == kAwaited) [[unlikely]]
      state_.notify_one();
  }
  /// How often lock() found it taken.
  std::uint64_t contended() const { return contended_.load(std::memory_order_relaxed); }

 private:
  enum : int { kFree, kHeld, kAwaited };
  static constexpr int kSpins = 100;  // some microseconds: longer than a holder needs

  [[gnu::noinline]] void lock_contended() noexcept {
    contended_.fetch_add(1, std::memory_order_relaxed);
    for (int spin = 0; spin < kSpins; ++spin) {
      int state = kFree;
      if (state_.load(std::memory_order_relaxed) == kFree &&
          state_.compare_exchange_weak(state, kHeld, std::memory_order_acquire,
                                       std::memory_order_relaxed))
        return;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#else
      asm volatile("yield");
#endif
    }
    while (state_.exchange(kAwaited, std::memory_order_acquire) != kFree) {
      state_.wait(kAwaited, std::memory_order_relaxed);
    }
  }

  std::atomic<int> state_{kFree};
  std::atomic<std::uint64_t> contended_{0};
};

}  // namespace cuvmm::shim
