// SPDX-License-Identifier: Apache-2.0
// Versions.
#include <string>

#include "emulator/base/export.h"
#include "emulator/nvml/on_machine.h"

namespace cuvmm::nvml {

CUVMM_EXPORT(Error, nvmlSystemGetDriverVersion, char* text, unsigned size) {
  return on_machine([&](const Machine& machine) {
    return write_text(machine.profile().driver.c_str(), text, size);
  });
}

// Works before nvmlInit, too: "13.580.159.04" is CUDA's major version, then the driver's.
CUVMM_EXPORT(Error, nvmlSystemGetNVMLVersion, char* text, unsigned size) {
  return anytime([&](const Machine& machine) {
    const Profile& profile = machine.profile();
    const std::string version = std::to_string(profile.cuda_version / 1000) + "." + profile.driver;
    return write_text(version.c_str(), text, size);
  });
}

CUVMM_EXPORT(Error, nvmlSystemGetCudaDriverVersion_v2, int* version) {
  return anytime([&](const Machine& machine) -> Error {
    if (!version) return kInvalidArgument;
    *version = machine.profile().cuda_version;
    return kSuccess;
  });
}
CUVMM_EXPORT_ALIAS(nvmlSystemGetCudaDriverVersion, nvmlSystemGetCudaDriverVersion_v2);

}  // namespace cuvmm::nvml
