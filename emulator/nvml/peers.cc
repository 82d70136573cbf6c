// SPDX-License-Identifier: Apache-2.0
// Which devices reach each other, and the NVLink fabric between them.
#include <cuda.h>

#include <cstring>

#include "emulator/base/device_identity.h"
#include "emulator/base/export.h"
#include "emulator/nvml/abi.h"
#include "emulator/nvml/on_machine.h"

namespace cuvmm::nvml {

namespace {

/// nvmlGpuFabricState_t.
constexpr std::uint8_t kFabricNotSupported = 0, kFabricCompleted = 3;

// Completed where libcuda says that memory can be exported by fabric handle: the fabric is then one
// cluster with one clique. The cluster of a single host has no number.
std::uint8_t fabric_state(const Machine& machine) {
  const bool handles = machine.attribute(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED) != 0;
  return handles ? kFabricCompleted : kFabricNotSupported;
}

template <class Bytes>
void name_cluster(const Machine& machine, Bytes& cluster) {
  static_assert(sizeof cluster == emulator::kUuidBytes);
  if (machine.rack()) std::memcpy(&cluster, emulator::kClusterUuid, sizeof cluster);
}

}  // namespace

CUVMM_EXPORT(Error, nvmlDeviceGetP2PStatus, Handle from, Handle to, int what, int* status) {
  constexpr int kOk = 0, kTopologyNotSupported = 3, kNotSupported = 5;
  constexpr int kLastQuestion = 4;  // the last of: read, write, NVLink, atomics, PCI
  return on_device(from, [&](const Machine& machine, int device) -> Error {
    const int peer = machine.index(to);
    if (peer < 0 || !status || what < 0 || what > kLastQuestion) {
      return kInvalidArgument;
    }
    *status = device == peer                  ? kNotSupported  // an H200's answer about itself
              : machine.reaches(device, peer) ? kOk
                                              : kTopologyNotSupported;
    return kSuccess;
  });
}

CUVMM_EXPORT(Error, nvmlDeviceGetGpuFabricInfo, Handle handle, FabricInfo* out) {
  return on_device(handle, [&](const Machine& machine, int) -> Error {
    if (!out) return kInvalidArgument;
    *out = {.cluster = {}, .status = kSuccess, .clique = 0, .state = fabric_state(machine)};
    name_cluster(machine, out->cluster);
    return kSuccess;
  });
}

CUVMM_EXPORT(Error, nvmlDeviceGetGpuFabricInfoV, Handle handle, void* out) {
  return on_device(handle, [&](const Machine& machine, int) -> Error {
    if (!out) return kInvalidArgument;
    unsigned version = 0;
    std::memcpy(&version, out, sizeof version);
    FabricInfoV3 info{};
    info.v2.version = version;
    info.v2.status = kSuccess;
    info.v2.state = fabric_state(machine);
    name_cluster(machine, info.v2.cluster);
    if (version == version_word<FabricInfoV2>(2)) {
      std::memcpy(out, &info.v2, sizeof info.v2);
    } else if (version == version_word<FabricInfoV3>(3)) {
      std::memcpy(out, &info, sizeof info);
    } else {
      return kArgumentVersionMismatch;
    }
    return kSuccess;
  });
}

}  // namespace cuvmm::nvml
