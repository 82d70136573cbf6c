// The lock of the model: held for tens of nanoseconds, so worth a short spin before sleeping.
#pragma once

#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

namespace cuvmm::shim {

/// A mutex for std::lock_guard. Free, it costs one atomic exchange, and a plain store to let go:
/// nobody has to be woken, since whoever waits looks again by itself. A thread that spun in vain
/// (its holder does not run) yields, and then sleeps a little, so that a holder of any priority
/// gets to run.
class ModelMutex {
 public:
  void lock() noexcept {
    if (try_lock()) [[likely]]
      return;
    lock_contended();
  }
  void unlock() noexcept { held_.store(false, std::memory_order_release); }
  /// How often lock() found it taken.
  std::uint64_t contended() const { return contended_.load(std::memory_order_relaxed); }

 private:
  static constexpr int kSpins = 100;  // some microseconds: longer than a holder needs
  static constexpr int kYields = 20;
  static constexpr std::chrono::microseconds kNap{50};

  bool try_lock() noexcept { return !held_.exchange(true, std::memory_order_acquire); }

  [[gnu::cold, gnu::noinline]] void lock_contended() noexcept {
    contended_.fetch_add(1, std::memory_order_relaxed);
    for (int tries = 0;; ++tries) {
      if (!held_.load(std::memory_order_relaxed) && try_lock()) return;
      if (tries < kSpins) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#else
        asm volatile("yield");
#endif
      } else if (tries < kSpins + kYields) {
        ::sched_yield();
      } else {
        std::this_thread::sleep_for(kNap);
      }
    }
  }

  std::atomic<bool> held_{false};
  std::atomic<std::uint64_t> contended_{0};
};

/// Lets a lock that is held go for a scope, to ask the driver something.
class Unlocked {
 public:
  explicit Unlocked(ModelMutex& mutex) : mutex_(mutex) { mutex_.unlock(); }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
  ~Unlocked() { mutex_.lock(); }

 private:
  ModelMutex& mutex_;
};

}  // namespace cuvmm::shim
