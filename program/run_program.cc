// SPDX-License-Identifier: Apache-2.0
#include "program/run_program.h"

#include "program/program_processes.h"

namespace cuvmm::program {

std::vector<Outcome> run_program(const Driver& driver, const Program& program,
                                 const RunOptions& options) {
  return ProgramProcesses(driver, options).run(program);
}

bool as_expected(const Statement& statement, const Outcome& outcome) {
  if (!statement.expected) return true;
  return outcome.status == Outcome::Status::kDone && outcome.result == *statement.expected &&
         (statement.expected_value.empty() || statement.expected_value == outcome.value);
}

}  // namespace cuvmm::program
