// SPDX-License-Identifier: Apache-2.0
// Finds out whether the machine is the reason why a driver refused calls.
#pragma once

#include <string>
#include <vector>

#include "tools/base/json.h"
#include "tools/doctor/doctor.h"

namespace cuvmm::tools {

/// If the driver refused calls and nothing in the program explains that, examines `driver` (a path,
/// or "" for the loader's choice) and the machine as `cuvmm doctor` does. A cause becomes the
/// member "machine" of the refusal, or of the advice, in `report`. Returns a sentence for each
/// cause. The caller must have only one thread, because the function forks. Without such a refused
/// call, the function does nothing.
std::vector<std::string> explain_by_machine(Json& report, const std::string& driver);
/// The same for a given machine, in tests.
std::vector<std::string> explain_by_machine(Json& report, const doctor::DoctorOptions& machine);

/// The names of the troubles that explain_by_outage() knows.
std::vector<std::string> outage_names();

/// The same for a run on the emulator that played a trouble of a machine: each sentence says what
/// such a machine lacks, by what users of them found.
std::vector<std::string> explain_by_outage(Json& report, const std::string& outage);

}  // namespace cuvmm::tools
