// SPDX-License-Identifier: Apache-2.0
// The functions by which a process ends. Whichever thread ends the process, and however many do so
// at once, the last report is whole before the process is gone.
//
// exit() runs the shim's destructor; so does the C library's exit() after main() returns or the
// last thread ends. A second exit() in another thread finds all handlers taken, and would end the
// process during the report. So the shim has its own exit() and quick_exit(), which wait there. A
// thread that was past that point already finds one of the shim's handlers behind all others: the
// shim registered it before the program started, so that it runs last, and each handler registers
// another one.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "shim/base/ending.h"
#include "shim/base/interrupted.h"
#include "shim/modules/libc_function.h"
#include "shim/output/output.h"
#include "shim/process/process.h"
#include "shim/process/signals.h"
#include "shim/settings/options.h"

// The C library's; no header declares them.
extern "C" int __cxa_atexit(void (*function)(void*), void* argument, void* library);  // NOLINT

namespace {

using cuvmm::shim::g_ending;
using cuvmm::shim::Process;
using cuvmm::shim::Session;
using Leave = void (*)(int);

// The seconds for which exit() in a signal handler may wait for a lock of stdio, which the
// interrupted code may hold.
constexpr unsigned kSecondsForOutput = 1;
// One handler would do, except for a thread that comes after another thread took it and before that
// thread registers the next.
constexpr int kLastHandlers = 4;

std::atomic<Leave> g_exit{nullptr}, g_quick_exit{nullptr};

Leave next_leave(std::atomic<Leave>& known, const char* name, Leave own) {
  Leave next = known.load(std::memory_order_acquire);
  if (!next) {
    next = reinterpret_cast<Leave>(
        cuvmm::shim::libc_function(name, reinterpret_cast<const void*>(own)));
    known.store(next, std::memory_order_release);
  }
  return next;
}

// A handler cannot change exit()'s code; so this does the last steps of exit() itself.
void end_with_report(Process& process, bool flush) {
  process.finish();
  constexpr int kNone = -1;
  const int code = process.exit_code(kNone);
  if (code == kNone || !process.is_current()) return;
  if (cuvmm::shim::in_signal_handler()) cuvmm::shim::exit_if_stuck(kSecondsForOutput, code);
  // exit() does so as well, without waiting for a thread that reads from a stream.
  if (flush) ::fcloseall();
  ::syscall(SYS_exit_group, code);
}

[[gnu::destructor]] void at_exit() { end_with_report(Process::get(), true); }

// Registers once for each thread, because the C library calls handlers that are registered
// meanwhile in a loop.
template <class Register>
void at_last(const Register& register_next, bool flush) {
  [[gnu::tls_model("initial-exec")]] static thread_local bool t_been_here = false;
  Process* const process = Process::if_made();
  if (!process || !process->is_current()) return;
  if (!g_ending.over() && !t_been_here) register_next();
  t_been_here = true;
  end_with_report(*process, flush);
}

void at_last_of_exit(void*) {
  at_last([] { (void)__cxa_atexit(&at_last_of_exit, nullptr, nullptr); }, true);
}

void at_last_of_quick_exit() {
  at_last([] { (void)::at_quick_exit(&at_last_of_quick_exit); }, false);
}

[[gnu::constructor]] void at_load() {
  cuvmm::shim::start_folder();
  cuvmm::shim::keep_stderr();
  // If the running program opened the shim by dlopen, the shim's handlers would run before handlers
  // of the program, and the program does not call the shim's exit().
  const bool in_front =
      ::dlsym(RTLD_DEFAULT, "exit") != reinterpret_cast<void*>(next_leave(g_exit, "exit", &::exit));
  cuvmm::shim::note_exit_function(reinterpret_cast<const void*>(g_exit.load()));
  (void)next_leave(g_quick_exit, "quick_exit", &::quick_exit);
  for (int i = 0; i < kLastHandlers; ++i) {
    if (in_front) (void)__cxa_atexit(&at_last_of_exit, nullptr, nullptr);
    (void)::at_quick_exit(&at_last_of_quick_exit);
  }
}

// The driver ends in a handler of exit(): so another thread runs exit(), and without cuvmm the
// process would have ended before this thread got its answer. That thread may wait for this one: so
// this wait is short.
void let_pass(Process& process) {
  constexpr timespec kNap{.tv_sec = 0, .tv_nsec = 1'000'000};
  constexpr int kNaps = 1000;
  const Session* const session = process.session_if_open();
  if (!session || !session->driver_ended()) return;
  if (g_ending.leaves(static_cast<std::uint32_t>(::gettid()))) return;
  for (int i = 0; i < kNaps && !g_ending.begun(); ++i) ::syscall(SYS_nanosleep, &kNap, nullptr);
}

[[noreturn]] void leave(Leave next, int status) {
  Process* const process = Process::if_made();
  if (process && process->is_current()) {
    let_pass(*process);
    g_ending.note_leaving();
    g_ending.leave_first();
    Process::note_status(status);  // quick_exit() calls no handler of on_exit()
  }
  next(status);
  __builtin_unreachable();
}

// A child of vfork shares this memory and may only exit: it is not the process that Process stands
// for. This function does not make the Process either, because a signal handler may have
// interrupted any code.
[[noreturn]] void exit_now(int status) {
  Process* process = Process::if_made();
  if (process && process->is_current()) {
    Process::note_status(status);
    process->finish();
    status = process->exit_code(status);
  }
  ::syscall(SYS_exit_group, status);
  __builtin_unreachable();
}

}  // namespace

#define CUVMM_EXPORT extern "C" __attribute__((visibility("default")))
CUVMM_EXPORT void exit(int status) { leave(next_leave(g_exit, "exit", &::exit), status); }
CUVMM_EXPORT void quick_exit(int status) {
  leave(next_leave(g_quick_exit, "quick_exit", &::quick_exit), status);
}
CUVMM_EXPORT void _exit(int status) { exit_now(status); }
CUVMM_EXPORT void _Exit(int status) { exit_now(status); }
