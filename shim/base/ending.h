// SPDX-License-Identifier: Apache-2.0
// The end of the process: one thread makes the last report, and other threads wait for it.
#pragma once

#include <atomic>
#include <cstdint>

namespace cuvmm::shim {

class Ending {
 public:
  /// True for the first caller, which then calls done(). For another thread it returns false as
  /// late as leave_first() does; for the first thread, also in a signal handler, at once. claim()
  /// is no cancellation point.
  bool claim() noexcept;
  void done() noexcept { done_.store(true, std::memory_order_release); }
  /// Waits until the thread that makes the last report ends the process, because without cuvmm the
  /// process would have ended by now. Returns at once if no thread makes the report, or if this
  /// thread does; otherwise some seconds after the report, because that thread may wait for this
  /// one.
  void leave_first() const noexcept;
  /// Returns when no other thread makes the last report, or after some seconds.
  void wait_for_report() const noexcept;
  bool over() const noexcept { return done_.load(std::memory_order_acquire); }
  bool begun() const noexcept { return owner_.load(std::memory_order_acquire) != nullptr; }
  /// Notes that the calling thread has called exit() and uses no object any more. Notes only a
  /// limited number of threads.
  void note_leaving() noexcept;
  bool leaves(std::uint32_t thread) const noexcept;
  /// Called in a child of fork.
  void restart() noexcept {
    done_.store(false);
    owner_.store(nullptr);
    for (auto& thread : leaving_) thread.store(0);
  }

 private:
  /// Whether another thread has claimed the report.
  bool is_others() const noexcept;

  std::atomic<const void*> owner_{nullptr};  ///< state of the thread that claimed it
  std::atomic<bool> done_{false};
  std::atomic<std::uint32_t> leaving_[16]{};  ///< the kernel's numbers of threads; 0: none
};
inline constinit Ending g_ending;

}  // namespace cuvmm::shim
