// SPDX-License-Identifier: Apache-2.0
// Stacks of ours. The program's may be too small for what we do (a thread of 16 KiB, a fiber, an
// alternate signal stack), so what describes findings and what ends the process runs apart from it.
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
  /// Takes address space for it; pages come when they are touched. Again does nothing.
  void reserve() noexcept;

  /// Calls `work(argument)`, which must not throw, on this stack, with signals and cancellation
  /// held back; faults are not. A thread that is on a stack of ours already stays where it is, and
  /// so does everybody where no memory could be reserved. False, with nothing called, when another
  /// thread has not let go of the stack for that long.
  bool run(void (*work)(void*), void* argument, std::chrono::milliseconds limit) noexcept;

  /// The same for anything that can be called. What it throws, for want of memory, ends here.
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

  /// Whether the calling thread has it.
  bool held_here() const noexcept { return mutex_.held_here(); }

  /// Around fork. False: some thread is on it and does not come to an end; the child must not count
  /// on what that thread was doing.
  bool lock_for_fork() noexcept;
  /// In a child it is free afterwards, locked or not: nobody else is there.
  void unlock_after_fork() noexcept CUVMM_UNCHECKED { mutex_.unlock(); }

 private:
  OwnedMutex mutex_;
  std::byte* low_ = nullptr;
};

/// How long a new finding waits for another thread's description of another one. After that it
/// does without symbols.
inline constexpr std::chrono::milliseconds kDescribingPatience{5000};
/// Where findings are described: symbols are looked up, text is made and written.
OwnStack& findings_stack() noexcept;
/// Where the process's last report is made.
OwnStack& ending_stack() noexcept;

}  // namespace cuvmm::shim
