// SPDX-License-Identifier: Apache-2.0
// The fabric: which endpoints its devices have, and their cliques (cuDeviceGetClique*).
#include <algorithm>
#include <cstring>
#include <optional>

#include "emulator/base/device_identity.h"
#include "emulator/core/base_entry.h"
#include "emulator/core/locked.h"
#include "emulator/machine/device_attributes.h"
#include "emulator/objects/memory/endpoints.h"
#include "rulebook/base/describe_devices.h"

namespace cuvmm::emulator {

void describe_fabric(const Profile& profile, int devices, Platform& platform) {
  constexpr int kEndpoints = 13030, kCliques = 13040;
  const auto ask = [&](int number, int) -> std::optional<int> {
    const int since = number == kAttributeEndpointHandleTypes ? kCliques : kEndpoints;
    if (profile.cuda_version < since) return std::nullopt;
    return profile.attribute(number, devices).value_or(default_attribute(number).value_or(0));
  };
  describe_endpoints(devices, ask, platform);
  if (profile.cuda_version < kCliques) return;
  for (int device = 0; device < devices; ++device) {
    const std::uint64_t one = profile.clique_devices == 0
                                  ? 0
                                  : static_cast<std::uint64_t>(device) / profile.clique_devices;
    const auto id = static_cast<std::uint32_t>(one);
    platform.cliques.push_back({{CU_CLIQUE_TYPE_UNICAST_POINTER, id},
                                {CU_CLIQUE_TYPE_MULTICAST_POINTER, id},
                                {CU_CLIQUE_TYPE_UNICAST_LOGICAL_ENDPOINT, id},
                                {CU_CLIQUE_TYPE_MULTICAST_LOGICAL_ENDPOINT, id}});
  }
}

namespace {

// Runs body(the device's cliques) for a device that exists, on a driver that supports cliques.
template <class Body>
CUresult with_cliques(CUdevice device, Body&& body) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    const auto& cliques = e.model.platform().cliques;
    if (cliques.empty()) return CUDA_ERROR_NOT_SUPPORTED;
    if (!e.valid_device(device)) return CUDA_ERROR_INVALID_VALUE;
    return body(cliques[static_cast<std::size_t>(device)]);
  });
}

}  // namespace

CUresult run_base(const calls::DeviceGetCliqueCount& call) noexcept {
  return with_cliques(call.dev, [&](const std::vector<Platform::Clique>& cliques) -> CUresult {
    if (!call.count) return CUDA_ERROR_INVALID_VALUE;
    *call.count = cliques.size();
    return CUDA_SUCCESS;
  });
}

CUresult run_base(const calls::DeviceGetCliqueInfo& call) noexcept {
  return with_cliques(call.dev, [&](const std::vector<Platform::Clique>& cliques) -> CUresult {
    if (!call.count || !call.cliqueInfo) return CUDA_ERROR_INVALID_VALUE;
    *call.count = std::min(*call.count, cliques.size());
    for (std::size_t i = 0; i < *call.count; ++i) {
      call.cliqueInfo[i].type = static_cast<CUcliqueType>(cliques[i].type);
      call.cliqueInfo[i].id = cliques[i].id;
    }
    return CUDA_SUCCESS;
  });
}

CUresult run_base(const calls::DeviceGetFabricClusterUuid& call) noexcept {
  return with_cliques(call.dev, [&](const std::vector<Platform::Clique>&) -> CUresult {
    if (!call.uuid) return CUDA_ERROR_INVALID_VALUE;
    static_assert(sizeof call.uuid->bytes == kUuidBytes);
    std::memcpy(call.uuid->bytes, kClusterUuid, sizeof call.uuid->bytes);
    return CUDA_SUCCESS;
  });
}

}  // namespace cuvmm::emulator
