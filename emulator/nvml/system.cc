// SPDX-License-Identifier: Apache-2.0
// Versions.
#include <string>

#include "emulator/nvml/export.h"

namespace cuvmm::nvml {

CUVMM_NVML_FUNCTION(nvmlSystemGetDriverVersion, char* text, unsigned size) {
  return on_machine([&](const Machine& machine) {
    return write_text(machine.profile().driver.c_str(), text, size);
  });
}

// Answered before nvmlInit, too: "13.580.159.04" is CUDA's major version, then the driver's.
CUVMM_NVML_FUNCTION(nvmlSystemGetNVMLVersion, char* text, unsigned size) {
  return anytime([&](const Machine& machine) {
    const Profile& profile = machine.profile();
    const std::string version = std::to_string(profile.cuda_version / 1000) + "." + profile.driver;
    return write_text(version.c_str(), text, size);
  });
}

CUVMM_NVML_FUNCTION(nvmlSystemGetCudaDriverVersion_v2, int* version) {
  return anytime([&](const Machine& machine) -> Error {
    if (!version) return kInvalidArgument;
    *version = machine.profile().cuda_version;
    return kSuccess;
  });
}
CUVMM_NVML_ALIAS(nvmlSystemGetCudaDriverVersion, nvmlSystemGetCudaDriverVersion_v2);

}  // namespace cuvmm::nvml
