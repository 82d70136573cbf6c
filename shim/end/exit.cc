// SPDX-License-Identifier: Apache-2.0
// The ways in which a process ends. Whatever thread ends it, and however many do at once, the last
// report is whole before the process is gone.
//
// exit(), also that of the C library for who returns from main() or ends the last thread, runs our
// destructor. A second exit() in another thread finds the handlers taken, and would end the process
// under the report. So exit() and quick_exit() are ours, and wait there. A thread that was past
// that already finds one of our handlers behind all others: it was registered before the program
// was started, so it runs last, and there is always one more.
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

// What exit() in a signal handler may wait for a lock of stdio's, which the interrupted code has.
constexpr unsigned kSecondsForOutput = 1;
// One would do but for a thread that comes between another one's taking it and registering the
// next.
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

// The code of exit() cannot be changed from a handler; what it would have done last is done first.
void end_with_report(Process& process, bool flush) {
  process.finish();
  constexpr int kNone = -1;
  const int code = process.exit_code(kNone);
  if (code == kNone || !process.is_current()) return;
  if (cuvmm::shim::in_signal_handler()) cuvmm::shim::exit_if_stuck(kSecondsForOutput, code);
  // As exit() does it, which does not wait for a thread that reads from a stream.
  if (flush) ::fcloseall();
  ::syscall(SYS_exit_group, code);
}

[[gnu::destructor]] void at_exit() { end_with_report(Process::get(), true); }

// Once for each thread: the C library calls what is registered meanwhile in a loop.
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
  // Opened by the running program, we would stand before handlers of its own, and our exit() is not
  // the one that it calls.
  const bool in_front =
      ::dlsym(RTLD_DEFAULT, "exit") != reinterpret_cast<void*>(next_leave(g_exit, "exit", &::exit));
  cuvmm::shim::note_exit_function(reinterpret_cast<const void*>(g_exit.load()));
  (void)next_leave(g_quick_exit, "quick_exit", &::quick_exit);
  for (int i = 0; i < kLastHandlers; ++i) {
    if (in_front) (void)__cxa_atexit(&at_last_of_exit, nullptr, nullptr);
    (void)::at_quick_exit(&at_last_of_quick_exit);
  }
}

// The driver ends in a handler of exit(), so another thread is behind that, and would have been
// gone before this one had its answer. It may wait for this thread: not for long, then.
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
  }
  next(status);
  __builtin_unreachable();
}

// A child of vfork shares our memory and may do nothing but go: it is not the process that Process
// knows. Nor is the state made here, where a signal handler may have interrupted anything.
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
