// SPDX-License-Identifier: Apache-2.0
// Stacks of the shim's own. The program's stack may be too small for the shim's work (a thread of
// 16 KiB, a fiber, an alternate signal stack), so the code that describes findings and the code
// that ends the process run on other stacks.
#pragma once

#include <chrono>
#include <cstddef>
#include <type_traits>

#include "shim/base/owned_mutex.h"
#include "shim/output/output.h"

namespace cuvmm::shim {

/// Memory for one stack, used by one thread at a time.
class OwnStack {
 public:
  /// Reserves address space for the stack; the kernel adds pages when they are touched. A second
  /// call does nothing.
  void reserve() noexcept;

  /// Calls `work(argument)`, which must not throw, on this stack, with signals (except faults) and
  /// cancellation blocked. Runs it on the present stack if the thread is on a stack of the shim
  /// already, or if no memory could be reserved. Returns false, without calling `work`, if another
  /// thread has not released the stack within `limit`.
  bool run(void (*work)(void*), void* argument, std::chrono::milliseconds limit) noexcept;

  /// run() for any callable object. An exception of it, for want of memory, ends here.
  template <class Work>
  requires std::is_invocable_v<const Work&>
  bool run(const Work& work, std::chrono::milliseconds limit) noexcept {
    const auto guarded = [](void* argument) {
      try {
        (*static_cast<const Work*>(argument))();
      } catch (...) {
        say("out of memory: the report is incomplete");
      }
    };
    return run(guarded, const_cast<Work*>(&work), limit);
  }

  /// Whether the calling thread runs on this stack.
  bool held_here() const noexcept { return mutex_.held_here(); }

  /// Called around fork. Returns false if some thread is on the stack and does not finish; the
  /// child must not rely on that thread's data.
  bool lock_for_fork() noexcept;
  /// In a child the stack is free afterwards, locked or not, because the child has no other thread.
  void unlock_after_fork() noexcept CUVMM_UNCHECKED { mutex_.unlock(); }

 private:
  OwnedMutex mutex_;
  std::byte* low_ = nullptr;
};

/// How long a new finding waits while another thread describes another finding. After that it is
/// described without symbols.
inline constexpr std::chrono::milliseconds kDescribingPatience{5000};
/// The stack on which findings are described: symbols are looked up, text is made and written.
OwnStack& findings_stack() noexcept;
/// The stack on which the process's last report is made.
OwnStack& ending_stack() noexcept;

}  // namespace cuvmm::shim
