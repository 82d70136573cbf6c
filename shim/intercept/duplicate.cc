// SPDX-License-Identifier: Apache-2.0
// The program's dup(), dup2(), dup3() and fcntl(F_DUPFD): a second number for a descriptor of the
// model keeps the memory alive, and dup2() closes the number that it takes. All other descriptors
// go on to the C library at once.
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <type_traits>

#include "shim/history/tracked.h"
#include "shim/intercept/program_call.h"
#include "shim/modules/libc_function.h"

#define CUVMM_VISIBLE extern "C" __attribute__((visibility("default")))

namespace {

using cuvmm::shim::Caller;
using cuvmm::shim::g_tracked;

constinit std::atomic<int (*)(int)> g_dup{nullptr};
constinit std::atomic<int (*)(int, int)> g_dup2{nullptr};
constinit std::atomic<int (*)(int, int, int)> g_dup3{nullptr};
using Fcntl = int (*)(int, int, ...);
constinit std::atomic<Fcntl> g_fcntl{nullptr};
constinit std::atomic<Fcntl> g_fcntl64{nullptr};

template <class Function>
void find(std::atomic<Function>& next, const char* name, std::type_identity_t<Function> own) {
  void* const found = cuvmm::shim::libc_function(name, reinterpret_cast<const void*>(own));
  next.store(reinterpret_cast<Function>(found), std::memory_order_release);
}

// As in close.cc: runs early, and a caller that comes before this gets the kernel's function.
[[gnu::constructor]] void find_duplicators() {
  find(g_dup, "dup", &::dup);
  find(g_dup2, "dup2", &::dup2);
  find(g_dup3, "dup3", &::dup3);
  find(g_fcntl, "fcntl", &::fcntl);
  find(g_fcntl64, "fcntl64", &::fcntl64);
}

[[gnu::noinline]] void tell_of(int from, int to, const Caller& caller) noexcept {
  cuvmm::shim::Process* const process = cuvmm::shim::hears_of(caller);
  if (!process) return;
  const int saved = errno;
  process->session().duplicated(from, to, caller);
  errno = saved;
}

// `to` is the kernel's answer: a number, which may have stood for another file until now.
inline int follow_copy(int from, int to, const Caller& caller) noexcept {
  if (to >= 0 && to != from && (g_tracked.has(from) || g_tracked.has(to))) [[unlikely]]
    tell_of(from, to, caller);
  return to;
}

bool duplicates(int command) { return command == F_DUPFD || command == F_DUPFD_CLOEXEC; }

// A lock request (F_SETLKW) waits in the call, and a thread can be cancelled there.
inline int control(const std::atomic<Fcntl>& function, int fd, int command, void* argument,
                   const Caller& caller) {
  const Fcntl next = function.load(std::memory_order_acquire);
  const int answer = next ? next(fd, command, argument)
                          : static_cast<int>(::syscall(SYS_fcntl, fd, command, argument));
  return duplicates(command) ? follow_copy(fd, answer, caller) : answer;
}

}  // namespace

CUVMM_VISIBLE int dup(int fd) noexcept {
  const auto next = g_dup.load(std::memory_order_acquire);
  return follow_copy(fd, next ? next(fd) : static_cast<int>(::syscall(SYS_dup, fd)), CUVMM_CALLER);
}

CUVMM_VISIBLE int dup2(int from, int to) noexcept {
  const auto next = g_dup2.load(std::memory_order_acquire);
  if (next) return follow_copy(from, next(from, to), CUVMM_CALLER);
  // Some architectures have no system call dup2.
  if (from == to) return ::syscall(SYS_fcntl, from, F_GETFD) < 0 ? -1 : to;
  return static_cast<int>(::syscall(SYS_dup3, from, to, 0));
}

CUVMM_VISIBLE int dup3(int from, int to, int flags) noexcept {
  const auto next = g_dup3.load(std::memory_order_acquire);
  const int answer =
      next ? next(from, to, flags) : static_cast<int>(::syscall(SYS_dup3, from, to, flags));
  return follow_copy(from, answer, CUVMM_CALLER);
}

// The third argument, if the caller passes one, is an int or a pointer: the C library reads it as a
// pointer, too.
CUVMM_VISIBLE int fcntl(int fd, int command, ...) {
  va_list more;
  va_start(more, command);
  void* const argument = va_arg(more, void*);
  va_end(more);
  return control(g_fcntl, fd, command, argument, CUVMM_CALLER);
}

CUVMM_VISIBLE int fcntl64(int fd, int command, ...) {
  va_list more;
  va_start(more, command);
  void* const argument = va_arg(more, void*);
  va_end(more);
  return control(g_fcntl64, fd, command, argument, CUVMM_CALLER);
}
