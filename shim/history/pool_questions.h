// SPDX-License-Identifier: Apache-2.0
// Keeps a pool alive while another thread asks the driver about it.
#pragma once

#include <sched.h>

#include <atomic>
#include <chrono>

namespace cuvmm::shim {

/// Thread-safe. A child of fork may find questions of threads that it lacks: so a wait has a limit.
class PoolQuestions {
 public:
  class Asking {
   public:
    explicit Asking(PoolQuestions& all) : all_(all) { all_.asking_.fetch_add(1); }
    ~Asking() { all_.asking_.fetch_sub(1); }
    Asking(const Asking&) = delete;
    Asking& operator=(const Asking&) = delete;

   private:
    PoolQuestions& all_;
  };

  /// Waits until the threads that ask now have their answers. Called before the driver's call that
  /// destroys a pool, and without a lock.
  void wait() const noexcept {
    if (asking_.load() == 0) [[likely]]
      return;
    const auto until = std::chrono::steady_clock::now() + kMostPatience;
    while (asking_.load() != 0 && std::chrono::steady_clock::now() < until) ::sched_yield();
  }

 private:
  static constexpr std::chrono::seconds kMostPatience{5};
  std::atomic<int> asking_{0};
};

}  // namespace cuvmm::shim
