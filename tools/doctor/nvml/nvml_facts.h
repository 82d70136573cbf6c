// SPDX-License-Identifier: Apache-2.0
// NVML's facts about the NVLink fabric, and about modes that disable a part of CUDA. A child
// process asks NVML, because the library might crash or hang.
#pragma once

#include <string>
#include <vector>

#include "tools/doctor/check.h"
#include "tools/doctor/children.h"

namespace cuvmm::doctor {

/// Reports these facts: load_error; init; version; count; device.N.{fabric,mig,virtualization},
/// each NVML's code, or "missing" if the library lacks the function;
/// device.N.fabric.{state,status,clique,cluster,health}, device.N.mig.current,
/// device.N.virtualization.mode; confidential (a code or "missing"), confidential.feature.
void ask_nvml(const std::string& library, const Reporter& say);

/// The number of GPUs that NVML sees; -1 if NVML gave no answer.
int nvml_devices(const Ended& answers);

/// Returns the checks nvml, nvlink-fabric, mig, vgpu and confidential-computing.
std::vector<Check> judge_nvml(const Ended& answers);

}  // namespace cuvmm::doctor
