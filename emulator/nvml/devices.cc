// SPDX-License-Identifier: Apache-2.0
// Devices and their names: index, UUID, PCI bus.
#include <cstdio>
#include <cstring>
#include <string_view>

#include "emulator/base/device_identity.h"
#include "emulator/base/export.h"
#include "emulator/nvml/abi.h"
#include "emulator/nvml/on_machine.h"

namespace cuvmm::nvml {

namespace {

// The vendor's id alone, because a profile does not contain the GPU's board.
constexpr unsigned kPciIds = 0x10de;

// "domain:bus:device.function", each in hexadecimal; the domain and the function may be missing.
bool parse_bus(const char* text, unsigned& domain, unsigned& bus, unsigned& device) {
  if (std::sscanf(text, "%x:%x:%x", &domain, &bus, &device) == 3) return true;
  domain = 0;
  return std::sscanf(text, "%x:%x", &bus, &device) == 2;
}

template <std::size_t kSize>
void write_bus(char (&out)[kSize], int device) {
  constexpr int kDomainDigits = kSize >= 32 ? 8 : 4;
  std::snprintf(out, kSize, "%0*x:%02X:00.0", kDomainDigits, 0u, emulator::pci_bus(device));
}

template <class Info>
void write_place(Info& out, int device) {
  out.bus = emulator::pci_bus(device);
  out.device_id = kPciIds;
}

template <class Matches>
Error find(const Machine& machine, Handle* out, Matches&& matches) {
  for (int device = 0; device < machine.device_count(); ++device) {
    if (!matches(device)) continue;
    *out = machine.handle(device);
    return kSuccess;
  }
  return kNotFound;
}

}  // namespace

CUVMM_EXPORT(Error, nvmlDeviceGetCount_v2, unsigned* count) {
  return on_machine([&](const Machine& machine) -> Error {
    if (!count) return kInvalidArgument;
    *count = static_cast<unsigned>(machine.device_count());
    return kSuccess;
  });
}
CUVMM_EXPORT_ALIAS(nvmlDeviceGetCount, nvmlDeviceGetCount_v2);

CUVMM_EXPORT(Error, nvmlDeviceGetHandleByIndex_v2, unsigned index, Handle* out) {
  return on_machine([&](const Machine& machine) -> Error {
    if (!out || index >= static_cast<unsigned>(machine.device_count())) return kInvalidArgument;
    *out = machine.handle(static_cast<int>(index));
    return kSuccess;
  });
}
CUVMM_EXPORT_ALIAS(nvmlDeviceGetHandleByIndex, nvmlDeviceGetHandleByIndex_v2);

CUVMM_EXPORT(Error, nvmlDeviceGetHandleByUUID, const char* uuid, Handle* out) {
  return on_machine([&](const Machine& machine) -> Error {
    if (!uuid || !out) return kInvalidArgument;
    return find(machine, out, [&](int device) {
      return emulator::uuid_text(machine.of_machine(device)) == uuid;
    });
  });
}

CUVMM_EXPORT(Error, nvmlDeviceGetHandleByUUIDV, const Uuid* uuid, Handle* out) {
  return on_machine([&](const Machine& machine) -> Error {
    if (!uuid || !out) return kInvalidArgument;
    if (uuid->version != version_word<Uuid>(1)) return kArgumentVersionMismatch;
    constexpr unsigned kText = 1, kBytes = 2;
    if (uuid->type != kText && uuid->type != kBytes) return kInvalidArgument;
    return find(machine, out, [&](int device) {
      if (uuid->type == kText) {
        const std::string_view text(uuid->value.text,
                                    strnlen(uuid->value.text, sizeof uuid->value));
        return text == emulator::uuid_text(machine.of_machine(device));
      }
      unsigned char own[emulator::kUuidBytes];
      emulator::write_uuid(machine.of_machine(device), own);
      return std::memcmp(own, uuid->value.bytes, sizeof own) == 0;
    });
  });
}

CUVMM_EXPORT(Error, nvmlDeviceGetHandleByPciBusId_v2, const char* text, Handle* out) {
  return on_machine([&](const Machine& machine) -> Error {
    unsigned domain = 0, bus = 0, slot = 0;
    if (!text || !out || !parse_bus(text, domain, bus, slot)) return kInvalidArgument;
    return find(machine, out, [&](int device) {
      return domain == 0 && slot == 0 && emulator::pci_bus(device) == bus;
    });
  });
}
CUVMM_EXPORT_ALIAS(nvmlDeviceGetHandleByPciBusId, nvmlDeviceGetHandleByPciBusId_v2);

CUVMM_EXPORT(Error, nvmlDeviceGetIndex, Handle handle, unsigned* index) {
  return on_device(handle, [&](const Machine&, int device) -> Error {
    if (!index) return kInvalidArgument;
    *index = static_cast<unsigned>(device);
    return kSuccess;
  });
}
CUVMM_EXPORT_ALIAS(nvmlDeviceGetMinorNumber, nvmlDeviceGetIndex);

CUVMM_EXPORT(Error, nvmlDeviceGetUUID, Handle handle, char* text, unsigned size) {
  return on_device(handle, [&](const Machine& machine, int device) {
    return write_text(emulator::uuid_text(machine.of_machine(device)).c_str(), text, size);
  });
}

CUVMM_EXPORT(Error, nvmlDeviceGetPciInfo_v2, Handle handle, PciInfoLegacy* out) {
  return on_device(handle, [&](const Machine&, int device) -> Error {
    if (!out) return kInvalidArgument;
    *out = {};
    write_place(*out, device);
    write_bus(out->bus_id, device);
    return kSuccess;
  });
}
CUVMM_EXPORT_ALIAS(nvmlDeviceGetPciInfo, nvmlDeviceGetPciInfo_v2);

CUVMM_EXPORT(Error, nvmlDeviceGetPciInfo_v3, Handle handle, PciInfo* out) {
  return on_device(handle, [&](const Machine&, int device) -> Error {
    if (!out) return kInvalidArgument;
    *out = {};
    write_place(*out, device);
    write_bus(out->bus_id_legacy, device);
    write_bus(out->bus_id, device);
    return kSuccess;
  });
}

CUVMM_EXPORT(Error, nvmlDeviceGetPciInfoExt, Handle handle, PciInfoExt* out) {
  return on_device(handle, [&](const Machine&, int device) -> Error {
    if (!out) return kInvalidArgument;
    if (out->version != version_word<PciInfoExt>(1)) return kArgumentVersionMismatch;
    constexpr unsigned kDisplayController = 3, k3dController = 2;
    const unsigned version = out->version;
    *out = {};
    out->version = version;
    out->base_class = kDisplayController;
    out->sub_class = k3dController;
    write_place(*out, device);
    write_bus(out->bus_id, device);
    return kSuccess;
  });
}

}  // namespace cuvmm::nvml
