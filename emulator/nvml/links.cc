// SPDX-License-Identifier: Apache-2.0
// The NVLinks of each device, which all lead to one NVSwitch. The switch has no PCI device that the
// host sees, as in a virtual machine: NCCL then takes it for a switch.
#include <cuda.h>

#include <chrono>
#include <cstdio>
#include <span>

#include "emulator/base/export.h"
#include "emulator/nvml/abi.h"
#include "emulator/nvml/on_machine.h"

namespace cuvmm::nvml {

namespace {

constexpr unsigned kLinks = 18;  // of an H100 or H200: 18 links of 50 GB/s each

constexpr unsigned kNoDomain = 0xffff, kNoBus = 0xff;
template <class Info>
void write_switch(Info& out, char (&bus_id)[16]) {
  out.domain = kNoDomain;
  out.bus = kNoBus;
  std::snprintf(bus_id, sizeof bus_id, "%04X:%02X:00.0", kNoDomain, kNoBus);
}

// Runs body() for a link that exists, if there is a place for the answer: only devices that are on
// a fabric have links. An H200 without links answered in this order (580.159.04, 28 November 2026).
template <class Body>
Error on_link(Handle handle, unsigned link, const void* out, const Body& body) {
  return on_device(handle, [&](const Machine& machine, int) -> Error {
    if (!out) return kInvalidArgument;
    if (machine.attribute(CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED) == 0) return kNotSupported;
    return link < kLinks ? body() : kInvalidArgument;
  });
}

}  // namespace

CUVMM_EXPORT(Error, nvmlDeviceGetNvLinkState, Handle handle, unsigned link, int* active) {
  return on_link(handle, link, active, [&]() -> Error {
    *active = 1;
    return kSuccess;
  });
}

CUVMM_EXPORT(Error, nvmlDeviceGetNvLinkCapability, Handle handle, unsigned link, int what,
             unsigned* yes) {
  constexpr int kLast = 5;  // P2P, system memory, atomics of both, SLI, and whether it is valid
  constexpr int kSli = 4;
  return on_link(handle, link, yes, [&]() -> Error {
    if (what < 0 || what > kLast) return kInvalidArgument;
    *yes = what != kSli;
    return kSuccess;
  });
}

CUVMM_EXPORT(Error, nvmlDeviceGetNvLinkRemotePciInfo, Handle handle, unsigned link,
             PciInfoLegacy* out) {
  return on_link(handle, link, out, [&]() -> Error {
    *out = {};
    write_switch(*out, out->bus_id);
    return kSuccess;
  });
}

CUVMM_EXPORT(Error, nvmlDeviceGetNvLinkRemotePciInfo_v2, Handle handle, unsigned link,
             PciInfo* out) {
  return on_link(handle, link, out, [&]() -> Error {
    *out = {};
    write_switch(*out, out->bus_id_legacy);
    std::snprintf(out->bus_id, sizeof out->bus_id, "%08X:%02X:00.0", kNoDomain, kNoBus);
    return kSuccess;
  });
}

CUVMM_EXPORT(Error, nvmlDeviceGetFieldValues, Handle handle, int count, FieldValue* values) {
  constexpr unsigned kLinkCount = 91, kLinkState = 165;  // NVML_FI_DEV_NVLINK_*
  return on_device(handle, [&](const Machine& machine, int) -> Error {
    if (count <= 0 || !values) return kInvalidArgument;
    const bool linked = machine.attribute(CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED) != 0;
    for (FieldValue& each : std::span(values, static_cast<std::size_t>(count))) {
      constexpr int kUnsigned = 1;
      const bool known =
          each.field == kLinkCount || (each.field == kLinkState && each.scope < kLinks);
      each.time = std::chrono::duration_cast<std::chrono::microseconds>(
                      std::chrono::system_clock::now().time_since_epoch())
                      .count();
      each.latency = 0;
      each.type = kUnsigned;
      each.error = linked && known ? kSuccess : kNotSupported;
      each.value = each.error != kSuccess ? 0 : each.field == kLinkCount ? kLinks : 1;
    }
    return kSuccess;
  });
}

}  // namespace cuvmm::nvml
