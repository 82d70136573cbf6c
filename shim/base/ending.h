// SPDX-License-Identifier: Apache-2.0
// The end of the process: one thread makes the last report, the others wait for it.
#pragma once

#include <atomic>
#include <cstdint>

namespace cuvmm::shim {

class Ending {
 public:
  /// True for the first caller, which then calls done(). Another thread comes back with false as
  /// after leave_first(); the first one, also in a signal handler, at once. No cancellation point.
  bool claim() noexcept;
  void done() noexcept { done_.store(true, std::memory_order_release); }
  /// Lets a thread that makes the last report end the process: it would have been over by now.
  /// Comes back at once where there is none, or where it is this thread; otherwise some seconds
  /// after the report, because that thread may wait for this one.
  void leave_first() const noexcept;
  /// Comes back when no other thread is at the last report, or after some seconds.
  void wait_for_report() const noexcept;
  bool over() const noexcept { return done_.load(std::memory_order_acquire); }
  bool begun() const noexcept { return owner_.load(std::memory_order_acquire) != nullptr; }
  /// The calling thread has called exit(): it makes use of nothing any more. Of some threads alone.
  void note_leaving() noexcept;
  bool leaves(std::uint32_t thread) const noexcept;
  /// In a child of fork.
  void restart() noexcept {
    done_.store(false);
    owner_.store(nullptr);
    for (auto& thread : leaving_) thread.store(0);
  }

 private:
  /// Another thread's.
  bool is_others() const noexcept;

  std::atomic<const void*> owner_{nullptr};  ///< state of the thread that claimed it
  std::atomic<bool> done_{false};
  std::atomic<std::uint32_t> leaving_[16]{};  ///< the kernel's numbers of threads; 0: none
};
inline constinit Ending g_ending;

}  // namespace cuvmm::shim
