// SPDX-License-Identifier: Apache-2.0
// The ways in which a process ends. exit() runs the destructor, whatever thread calls it.
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/process/interrupted.h"
#include "shim/process/options.h"
#include "shim/process/process.h"
#include "shim/process/signals.h"
#include "shim/report/output.h"

namespace {

using cuvmm::shim::Process;

// What exit() in a signal handler may wait for a lock of stdio's, which the interrupted code has.
constexpr unsigned kSecondsForOutput = 1;

[[gnu::destructor]] void at_exit() {
  Process& process = Process::get();
  process.finish();
  constexpr int kNone = -1;
  const int code = process.exit_code(kNone);
  if (code == kNone || !process.is_current()) return;
  // The code of exit() cannot be changed from here; what it would have done last is done first.
  if (cuvmm::shim::in_signal_handler()) cuvmm::shim::exit_if_stuck(kSecondsForOutput, code);
  ::fflush(nullptr);
  ::syscall(SYS_exit_group, code);
}

[[gnu::constructor]] void at_load() {
  cuvmm::shim::start_folder();
  cuvmm::shim::keep_stderr();
  ::at_quick_exit([] {
    if (Process* process = Process::if_made()) process->finish();
  });
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

extern "C" __attribute__((visibility("default"))) void _exit(int status) { exit_now(status); }
extern "C" __attribute__((visibility("default"))) void _Exit(int status) { exit_now(status); }
