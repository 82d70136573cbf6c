// SPDX-License-Identifier: Apache-2.0
#include "shim/base/own_stack.h"

#include <signal.h>
#include <sys/mman.h>

#include <chrono>

#include "api/posix/cancel_off.h"
#include "shim/base/thread_state.h"

namespace cuvmm::shim {

namespace {

// elfutils needs a few hundred KiB in some cases. Pages that no code touches cost no memory.
constexpr std::size_t kSize = std::size_t{2} << 20;
constexpr std::size_t kGuard = std::size_t{64} << 10;

// AddressSanitizer knows only the program's stacks.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSwitches = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool kSwitches = false;
#else
constexpr bool kSwitches = true;
#endif
#else
constexpr bool kSwitches = true;
#endif

/// Blocks signals, because a handler could run the program's code on this stack, or leave it by a
/// jump. Faults are not blocked, because the kernel ends a process that has them blocked.
class SignalsHeld {
 public:
  SignalsHeld() noexcept {
    sigset_t held;
    sigfillset(&held);
    for (const int fault : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS}) {
      sigdelset(&held, fault);
    }
    pthread_sigmask(SIG_BLOCK, &held, &before_);
  }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;
  ~SignalsHeld() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

// Calls and returns stay paired, so that a shadow stack accepts the switch.
[[gnu::noinline]] void call_on(void* top, void (*work)(void*), void* argument) {
#if defined(__x86_64__)
  asm volatile(
      "movq %%rsp, %%rbx\n\t"
      "movq %[top], %%rsp\n\t"
      "callq *%[work]\n\t"
      "movq %%rbx, %%rsp"
      : "+D"(argument)
      : [top] "r"(top), [work] "r"(work)
      : "rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3",
        "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
        "xmm15", "cc", "memory");
#elif defined(__aarch64__)
  register void* first asm("x0") = argument;
  asm volatile(
      "mov x19, sp\n\t"
      "mov sp, %[top]\n\t"
      "blr %[work]\n\t"
      "mov sp, x19"
      : "+r"(first)
      : [top] "r"(top), [work] "r"(work)
      : "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14",
        "x15", "x16", "x17", "x18", "x19", "x30", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7",
        "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28",
        "v29", "v30", "v31", "cc", "memory");
#endif
}

}  // namespace

void OwnStack::reserve() noexcept {
  if (low_) return;
  void* const memory = ::mmap(nullptr, kGuard + kSize, PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return;
  auto* const low = static_cast<std::byte*>(memory) + kGuard;
  if (::mprotect(low, kSize, PROT_READ | PROT_WRITE) != 0) {
    ::munmap(memory, kGuard + kSize);
    return;
  }
  low_ = low;
}

bool OwnStack::run(void (*work)(void*), void* argument, std::chrono::milliseconds limit) noexcept {
  const CancelOff no_cancel;
  if (t_state.on_own_stack) {
    work(argument);
    return true;
  }
  const SignalsHeld held;
  if (!mutex_.lock_within(limit)) return false;
  t_state.on_own_stack = true;
  if (low_ && kSwitches) {
    call_on(low_ + kSize, work, argument);
  } else {
    work(argument);
  }
  t_state.on_own_stack = false;
  mutex_.unlock();
  return true;
}

bool OwnStack::lock_for_fork() noexcept {
  constexpr std::chrono::seconds kLimit{5};
  return !t_state.on_own_stack && mutex_.lock_within(kLimit);
}

OwnStack& findings_stack() noexcept {
  static constinit OwnStack stack;
  return stack;
}

OwnStack& ending_stack() noexcept {
  static constinit OwnStack stack;
  return stack;
}

}  // namespace cuvmm::shim
