// SPDX-License-Identifier: Apache-2.0
#include "rulebook/base/describe_devices.h"

#include "api/newer/endpoint.h"
#include "api/newer/pools.h"
#include "rulebook/base/limits.h"

namespace cuvmm {

void describe_devices(int devices, const AskAttribute& ask, Platform& platform) {
  if (devices <= 0 || devices > kMaxDevices) return;
  platform.managed_known = platform.managed = true;
  platform.host_multinode_known = platform.localized_rdma_known = true;
  platform.locality_domains.assign(static_cast<std::size_t>(devices), 0);
  for (int device = 0; device < devices; ++device) {
    const auto managed = ask(kDeviceConcurrentManaged, device);
    const auto multinode = ask(kDeviceHostMultinode, device);
    const auto localized = ask(kDeviceLocalizedRdma, device);
    platform.managed_known &= managed.has_value();
    platform.managed &= managed.value_or(0) != 0;
    platform.host_multinode_known &= multinode.has_value();
    platform.host_multinode |= multinode.value_or(0) != 0;
    platform.localized_rdma_known &= localized.has_value();
    if (localized.value_or(0) != 0) platform.localized_rdma |= std::uint64_t{1} << device;
    platform.locality_domains[static_cast<std::size_t>(device)] =
        ask(kDeviceLocalityDomains, device).value_or(0);
  }
}

void describe_endpoints(int devices, const AskAttribute& ask, Platform& platform) {
  if (devices <= 0 || devices > kMaxDevices) return;
  Platform::Endpoints found;
  found.known = true;
  found.handle_types_known = true;
  std::uint64_t unaligned = 0;
  for (int device = 0; device < devices; ++device) {
    const std::uint64_t bit = std::uint64_t{1} << device;
    const auto add = [&](int attribute, std::uint64_t& mask) {
      const auto value = ask(attribute, device);
      if (!value) found.known = false;
      if (value.value_or(0) != 0) mask |= bit;
    };
    add(kAttributeEndpointUnicast, found.unicast);
    if (!found.known) return;  // the driver is older than endpoints
    add(kAttributeEndpointMulticast, found.multicast);
    add(kAttributeEndpointCountedOps, found.counted);
    add(kAttributeEndpointUnicastOnOwner, found.on_owner);
    const auto types = ask(kAttributeEndpointHandleTypes, device);
    if (!types) found.handle_types_known = false;
    found.handle_types |= static_cast<std::uint32_t>(types.value_or(0));
    const auto major = ask(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    const auto minor = ask(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    if (major && minor && binds_unaligned(*major, *minor)) unaligned |= bit;
  }
  if (found.known) platform.endpoints = found;
  if (found.handle_types_known) platform.unaligned_binds = unaligned;  // the driver is of 13.4
}

}  // namespace cuvmm
