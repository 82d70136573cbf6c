// SPDX-License-Identifier: Apache-2.0
// Runs a program on a driver in processes of its own: a crash or a hang is an outcome, not an end.
#pragma once

#include <vector>

#include "api/driver/driver.h"
#include "program/outcome.h"
#include "program/program.h"
#include "program/run_options.h"

namespace cuvmm::program {

/// Runs the statements in their order, each in the process and thread that it names; one outcome
/// per statement. The processes are forked from this one: it should not have called cuInit itself.
/// The driver is used in them only.
std::vector<Outcome> run_program(const Driver& driver, const Program& program,
                                 const RunOptions& options = {});

/// Whether a statement answered what its comment expects; true when it expects nothing.
bool as_expected(const Statement& statement, const Outcome& outcome);

}  // namespace cuvmm::program
