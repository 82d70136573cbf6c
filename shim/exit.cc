// The ways in which a process ends. exit() runs the destructor, whatever thread calls it.
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/options.h"
#include "shim/process.h"
#include "shim/signals.h"

namespace {

using cuvmm::shim::Process;

// The time after which _exit goes through even if the report hangs on a lock that the interrupted
// code holds (_exit is called from signal handlers).
constexpr unsigned kSecondsForReport = 3;

[[gnu::destructor]] void at_exit() {
  Process& process = Process::get();
  process.finish("exit");
  constexpr int kNone = -1;
  const int code = process.exit_code(kNone);
  if (code == kNone) return;
  // The code of exit() cannot be changed from here; what it would have done last is done first.
  ::fflush(nullptr);
  ::syscall(SYS_exit_group, code);
}

[[gnu::constructor]] void at_load() {
  cuvmm::shim::start_folder();
  ::at_quick_exit([] {
    if (Process* process = Process::if_made()) process->finish("exit");
  });
}

// A child of vfork shares our memory and may do nothing but go: it is not the process that Process
// knows. Nor is the state made here, where a signal handler may have interrupted anything.
[[noreturn]] void exit_now(int status) {
  Process* process = Process::if_made();
  if (process && process->is_current()) {
    cuvmm::shim::exit_if_stuck(kSecondsForReport, status);
    process->finish("exit");
    status = process->exit_code(status);
  }
  ::syscall(SYS_exit_group, status);
  __builtin_unreachable();
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void _exit(int status) { exit_now(status); }
extern "C" __attribute__((visibility("default"))) void _Exit(int status) { exit_now(status); }
