// SPDX-License-Identifier: Apache-2.0
// Runs a program on a driver in processes of its own: a crash or a hang is an outcome, not an end.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "api/driver.h"
#include "program/outcome.h"
#include "program/program.h"

namespace cuvmm {

struct RunOptions {
  /// For one statement to answer; then its process is killed.
  std::chrono::milliseconds timeout{20000};
  /// True: the processes end by exit(), so that a preloaded library writes its report. False: by
  /// _exit(), which suits a caller with handlers of its own, such as a test.
  bool normal_exit = false;
  /// Where the ids of the processes are appended, for who matches reports with runs; may be null.
  std::vector<int>* process_ids = nullptr;
};

/// Runs the statements in their order, each in the process and thread that it names; one outcome
/// per statement. The processes are forked from this one: it should not have called cuInit itself.
/// The driver is used in them only.
std::vector<Outcome> run_program(const Driver& driver, const Program& program,
                                 const RunOptions& options = {});

/// "SIGSEGV"; the number where it has no name here.
std::string signal_name(int signal);
/// How a process ended, from the status that waitpid() gave.
Outcome outcome_of_end(int wait_status);

/// Whether a statement answered what its comment expects; true when it expects nothing.
bool as_expected(const Statement& statement, const Outcome& outcome);

}  // namespace cuvmm
