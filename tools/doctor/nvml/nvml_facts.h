// SPDX-License-Identifier: Apache-2.0
// What NVML says of the fabric and of modes that take things away. Asked in an expendable child.
#pragma once

#include <string>
#include <vector>

#include "tools/doctor/check.h"
#include "tools/doctor/children.h"

namespace cuvmm::doctor {

/// Facts: load_error; init; version; count; device.N.{fabric,mig,virtualization} are NVML's codes
/// or "missing" for a function that the library lacks;
/// device.N.fabric.{state,status,clique,cluster,health}, device.N.mig.current,
/// device.N.virtualization.mode; confidential (a code or "missing"), confidential.feature.
void ask_nvml(const std::string& library, const Reporter& say);

/// How many GPUs NVML sees; -1 where it cannot say.
int nvml_devices(const Ended& answers);

/// nvml, nvlink-fabric, mig, vgpu and confidential-computing.
std::vector<Check> judge_nvml(const Ended& answers);

}  // namespace cuvmm::doctor
