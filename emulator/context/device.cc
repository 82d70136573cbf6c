// SPDX-License-Identifier: Apache-2.0
// Devices: their number, their properties, and which of them reach each other.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "emulator/base/device_identity.h"
#include "emulator/core/base_entry.h"
#include "emulator/core/export.h"
#include "emulator/core/locked.h"
#include "emulator/machine/device_attributes.h"

namespace cuvmm::emulator {

namespace {

// Runs body(e) for a device that exists.
template <class Body>
CUresult on_device(CUdevice device, Body&& body) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    return e.valid_device(device) ? body(e) : CUDA_ERROR_INVALID_DEVICE;
  });
}

void write_text(char* out, int length, const char* text) {
  const std::size_t room = static_cast<std::size_t>(length) - 1;
  const std::size_t n = std::min(std::strlen(text), room);
  std::memcpy(out, text, n);
  out[n] = '\0';
}

}  // namespace

CUresult run_base(const calls::DeviceGet& call) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    if (!call.device) return CUDA_ERROR_INVALID_VALUE;
    if (!e.valid_device(call.ordinal)) return CUDA_ERROR_INVALID_DEVICE;
    *call.device = call.ordinal;
    return CUDA_SUCCESS;
  });
}

CUresult run_base(const calls::DeviceGetCount& call) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    if (!call.count) return CUDA_ERROR_INVALID_VALUE;
    *call.count = e.device_count();
    return CUDA_SUCCESS;
  });
}

CUresult run_base(const calls::DeviceGetName& call) noexcept {
  return on_device(call.dev, [&](Emulator& e) -> CUresult {
    if (!call.name || call.len <= 0) return CUDA_ERROR_INVALID_VALUE;
    write_text(call.name, call.len, e.profile.gpu.c_str());
    return CUDA_SUCCESS;
  });
}

CUresult run_base(const calls::DeviceGetAttribute& call) noexcept {
  return on_device(call.dev, [&](Emulator& e) -> CUresult {
    if (!call.value) return CUDA_ERROR_INVALID_VALUE;
    switch (static_cast<int>(call.attrib)) {
      case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
        *call.value = static_cast<int>(pci_bus(g_visible.of_host(call.dev)));
        return CUDA_SUCCESS;
      case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID:
      case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
        *call.value = 0;
        return CUDA_SUCCESS;
    }
    const int number = static_cast<int>(call.attrib);
    auto value = e.profile.attribute(number, e.machine_devices());
    if (!value) value = default_attribute(number);
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    *call.value = *value;
    return CUDA_SUCCESS;
  });
}

CUresult run_base(const calls::DeviceCanAccessPeer& call) noexcept {
  return on_device(call.dev, [&](Emulator& e) -> CUresult {
    if (!e.valid_device(call.peerDev)) return CUDA_ERROR_INVALID_DEVICE;
    if (!call.canAccessPeer) return CUDA_ERROR_INVALID_VALUE;
    *call.canAccessPeer = call.dev != call.peerDev && e.can_reach(call.dev, call.peerDev);
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuDeviceGetP2PAttribute, int* value, CUdevice_P2PAttribute attribute,
                      CUdevice from, CUdevice to) {
  return on_device(from, [&](Emulator& e) -> CUresult {
    if (!e.valid_device(to)) return CUDA_ERROR_INVALID_DEVICE;
    if (!value || from == to) return CUDA_ERROR_INVALID_VALUE;
    const bool peers = e.can_reach(from, to);
    switch (static_cast<int>(attribute)) {
      case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
        *value = 0;
        return CUDA_SUCCESS;
      case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
      case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
        *value = peers;
        return CUDA_SUCCESS;
      case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
        *value = 0;  // copies between arrays of peers are not emulated
        return CUDA_SUCCESS;
      default:
        return CUDA_ERROR_INVALID_VALUE;
    }
  });
}

CUVMM_DRIVER_FUNCTION(cuDeviceTotalMem_v2, size_t* bytes, CUdevice device) {
  return on_device(device, [&](Emulator& e) -> CUresult {
    if (!bytes) return CUDA_ERROR_INVALID_VALUE;
    *bytes = e.devices.total(device);
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuDeviceGetUuid_v2, CUuuid* uuid, CUdevice device) {
  return on_device(device, [&](Emulator&) -> CUresult {
    if (!uuid) return CUDA_ERROR_INVALID_VALUE;
    write_uuid(g_visible.of_machine(device), uuid->bytes);
    return CUDA_SUCCESS;
  });
}
CUVMM_DRIVER_ALIAS(cuDeviceGetUuid, cuDeviceGetUuid_v2);

CUVMM_DRIVER_FUNCTION(cuDeviceGetPCIBusId, char* text, int length, CUdevice device) {
  return on_device(device, [&](Emulator&) -> CUresult {
    if (!text || length <= 0) return CUDA_ERROR_INVALID_VALUE;
    char bus[16];
    std::snprintf(bus, sizeof bus, "0000:%02X:00.0", pci_bus(g_visible.of_host(device)));
    write_text(text, length, bus);
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuDeviceGetByPCIBusId, CUdevice* device, const char* text) {
  return locked([&](Emulator& e) -> CUresult {
    if (!device || !text) return CUDA_ERROR_INVALID_VALUE;
    // "domain:bus:device.function"; the domain and the function may be missing.
    unsigned domain = 0, bus = 0, slot = 0;
    if (std::sscanf(text, "%x:%x:%x", &domain, &bus, &slot) != 3) {
      domain = 0;
      if (std::sscanf(text, "%x:%x", &bus, &slot) != 2) return CUDA_ERROR_INVALID_VALUE;
    }
    for (int candidate = 0; candidate < e.device_count(); ++candidate) {
      if (domain == 0 && slot == 0 && pci_bus(g_visible.of_host(candidate)) == bus) {
        *device = candidate;
        return CUDA_SUCCESS;
      }
    }
    return CUDA_ERROR_INVALID_DEVICE;
  });
}

CUVMM_DRIVER_FUNCTION(cuDeviceComputeCapability, int* major, int* minor, CUdevice device) {
  return on_device(device, [&](Emulator&) -> CUresult {
    if (!major || !minor) return CUDA_ERROR_INVALID_VALUE;
    *major = *default_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    *minor = *default_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    return CUDA_SUCCESS;
  });
}

}  // namespace cuvmm::emulator
