// SPDX-License-Identifier: Apache-2.0
// Runs a program on a driver in processes of its own, so that a crash or a hang is only an outcome.
#pragma once

#include <vector>

#include "api/driver/driver.h"
#include "program/outcome.h"
#include "program/program.h"
#include "program/run_options.h"

namespace cuvmm::program {

/// Runs the statements in their order, each in the process and thread that it names, and returns
/// one outcome per statement. The processes are forked from this one, and only they use the driver,
/// so this process should not have called cuInit itself.
std::vector<Outcome> run_program(const Driver& driver, const Program& program,
                                 const RunOptions& options = {});

/// Whether a statement answered as its comment expects; true if the comment expects nothing.
bool as_expected(const Statement& statement, const Outcome& outcome);

}  // namespace cuvmm::program
