// SPDX-License-Identifier: Apache-2.0
// The lock of the model, and of other data that a signal handler may find locked. Most holders hold
// it for tens of nanoseconds, so a waiter spins for a short time before it sleeps.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "api/posix/thread_safety.h"
#include "shim/base/thread_state.h"

namespace cuvmm::shim {

/// A free lock costs one atomic exchange to take, and a plain store to release: the holder need not
/// wake a thread, because each waiter looks again by itself. A thread that spun in vain (the holder
/// does not run) yields, and then sleeps a little, so that a holder of any priority gets to run.
/// None of its calls is a cancellation point.
class CUVMM_LOCK OwnedMutex {
 public:
  constexpr OwnedMutex() = default;
  void lock() noexcept CUVMM_ACQUIRES() {
    if (try_lock()) [[likely]]
      return;
    wait(nullptr);
  }
  void unlock() noexcept CUVMM_RELEASES() { holder_.store(nullptr, std::memory_order_release); }

  /// For code that may run in a signal handler: returns false if the calling thread was interrupted
  /// while it held the lock, or if another thread does not release it within `limit`.
  bool lock_within(std::chrono::milliseconds limit) noexcept CUVMM_TRIES();
  /// Whether the calling thread holds it.
  bool held_here() const noexcept { return holder_.load(std::memory_order_relaxed) == &t_state; }

  /// Called around fork: returns false if a signal handler that forks interrupted the calling
  /// thread under the lock. Then the interrupted code goes on to hold the lock, and releases it
  /// itself.
  bool lock_for_fork() noexcept CUVMM_UNCHECKED {
    if (held_here()) return false;
    lock();
    return true;
  }

  /// How often lock() met a lock that another thread held.
  std::uint64_t contended() const { return contended_.load(std::memory_order_relaxed); }

 private:
  bool try_lock() noexcept {
    const void* nobody = nullptr;
    return holder_.compare_exchange_strong(nobody, &t_state, std::memory_order_acquire,
                                           std::memory_order_relaxed);
  }
  /// Returns false after `deadline`, if it is not null, has passed.
  [[gnu::cold, gnu::noinline]] bool wait(
      const std::chrono::steady_clock::time_point* deadline) noexcept;

  std::atomic<const void*> holder_{nullptr};  ///< the state of the thread that holds the lock
  std::atomic<std::uint64_t> contended_{0};
};

/// For a thread that polls for another thread's next step: wait() yields, and after some calls
/// sleeps a little, so that the other thread gets to run whatever its priority. wait() is no
/// cancellation point.
class Patience {
 public:
  static constexpr int kYields = 20;
  void wait() noexcept;

 private:
  int tries_ = 0;
};

/// Tells Locked that its thread holds the lock already.
inline constexpr struct HeldAlready {
} kHeldAlready;

/// Holds the lock for a scope.
class CUVMM_SCOPED_LOCK Locked {
 public:
  explicit Locked(OwnedMutex& mutex) noexcept CUVMM_ACQUIRES(mutex) : mutex_(mutex) {
    mutex_.lock();
  }
  /// Used after lock_within().
  Locked(OwnedMutex& mutex, HeldAlready) noexcept CUVMM_NEEDS(mutex) : mutex_(mutex) {}
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  ~Locked() CUVMM_RELEASES() { mutex_.unlock(); }

 private:
  OwnedMutex& mutex_;
};

/// Releases a held lock for a scope, to ask the driver a question.
class Unlocked {
 public:
  explicit Unlocked(OwnedMutex& mutex) CUVMM_UNCHECKED : mutex_(mutex) { mutex_.unlock(); }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
  ~Unlocked() CUVMM_UNCHECKED { mutex_.lock(); }

 private:
  OwnedMutex& mutex_;
};

}  // namespace cuvmm::shim
