// SPDX-License-Identifier: Apache-2.0
// Whether it is the machine that makes a driver refuse calls.
#pragma once

#include <string>
#include <vector>

#include "tools/base/json.h"
#include "tools/doctor/doctor.h"

namespace cuvmm::tools {

/// Where the driver refused calls that nothing in the program explains, asks `driver` (a path, or
/// "" for the loader's choice) and the machine as `cuvmm doctor` does. What is the cause becomes
/// the member "machine" of the refusal, or of the advice, in `report`. Returns a sentence for each
/// cause. Asks nothing where no such call was refused. Forks: the caller has one thread.
std::vector<std::string> explain_by_machine(Json& report, const std::string& driver);
/// The same of another machine, for tests.
std::vector<std::string> explain_by_machine(Json& report, const doctor::DoctorOptions& machine);

}  // namespace cuvmm::tools
