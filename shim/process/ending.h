// SPDX-License-Identifier: Apache-2.0
// The end of the process: one thread makes the last report, the others wait for it.
#pragma once

#include <atomic>

namespace cuvmm::shim {

class Ending {
 public:
  /// True for the first caller, which then calls done(). Others come back with false once that one
  /// is done, or after some seconds; a signal handler on the first one's thread at once. No
  /// cancellation point.
  bool claim() noexcept;
  void done() noexcept { state_.store(&kDone, std::memory_order_release); }
  bool over() const noexcept { return state_.load(std::memory_order_acquire) == &kDone; }
  bool begun() const noexcept { return state_.load(std::memory_order_acquire) != nullptr; }
  /// In a child of fork.
  void restart() noexcept { state_.store(nullptr); }

 private:
  static constexpr char kDone = 0;
  std::atomic<const void*> state_{nullptr};  ///< null, the claiming thread's state, or &kDone
};

}  // namespace cuvmm::shim
