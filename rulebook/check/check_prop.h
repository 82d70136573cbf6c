// SPDX-License-Identifier: Apache-2.0
// Checks the properties for cuMemCreate. cuMemGetAllocationGranularity takes the same properties.
#pragma once

#include <cstring>
#include <iterator>

#include "api/location.h"
#include "api/newer/pools.h"
#include "rulebook/check/check_support.h"

namespace cuvmm::detail {

inline constexpr unsigned kFabric = 8;
inline constexpr unsigned kKnownHandleTypes = 1 | 2 | 4 | kFabric;

/// Calls add(message) for memory of a NUMA node that other machines are to use, where no device can
/// share such memory.
template <class Add>
void check_multinode(const Platform& platform, const CUmemLocation& place, unsigned types,
                     const Add& add) {
  const bool asked = (types & kFabric) && static_cast<int>(place.type) == kLocationHostNuma;
  if (!asked || !platform.host_multinode_known || platform.host_multinode) return;
  add("FABRIC handles were requested for memory on a NUMA node, and no device can share such "
      "memory with other machines");
}

// The parts of check_prop().
template <class Add>
void check_prop_location(const Platform& platform, const CUmemAllocationProp& prop, Add& add) {
  constexpr int kUnknownType = -1;
  const int id = prop.location.id;
  const auto types = static_cast<unsigned>(prop.requestedHandleTypes);
  const int type = static_cast<int>(prop.location.type);
  // Nearly all memory is memory of a device.
  if (type == kLocationDevice) [[likely]] {
    if (id < 0 || (platform.device_count >= 0 && id >= platform.device_count)) {
      add(Rule::kCreateLocationDevice,
          "prop.location.id is " + std::to_string(id) + ", and there are " +
              (platform.device_count >= 0 ? std::to_string(platform.device_count)
                                          : std::string("fewer")) +
              " devices",
          true);
    }
    return;
  }
  switch (is_domain(prop.location) && !has_domains(platform) ? kUnknownType : type) {
    case kLocationDomain: {
      const LocalityDomain at = locality_domain(prop.location);
      const int domains = domains_of(platform, at.device);
      if (platform.device_count >= 0 && at.device >= platform.device_count) {
        add(Rule::kCreateLocationDevice,
            "prop.location names device " + std::to_string(at.device) + ", and there are " +
                std::to_string(platform.device_count) + " devices",
            true);
      } else if (domains != 0 && at.domain >= domains) {
        add(Rule::kCreateLocationDomain,
            "prop.location is " + location(prop.location) + ", which has " +
                std::to_string(domains) + (domains == 1 ? " domain" : " domains"),
            true);
      }
      break;
    }
    case kLocationHost:
      if (types != 0) {
        add(Rule::kCreateHostHandleTypes,
            "prop.requestedHandleTypes is " + std::to_string(types) + " for HOST memory, not 0",
            true);
      }
      break;
    case kLocationHostNuma: {
      // The driver refuses memory on the host that is to be compressed, or reachable by RDMA, for
      // that reason already.
      const bool other_reason = prop.allocFlags.compressionType ||
                                prop.allocFlags.gpuDirectRDMACapable || prop.allocFlags.usage;
      const HoldsMemory holds = holds_memory(platform, id, other_reason);
      if (holds != HoldsMemory::kYes) {
        add(Rule::kCreateNumaNode,
            "prop.location.id " + std::to_string(id) + " is not a NUMA node that can hold memory",
            holds == HoldsMemory::kNo);
      }
      break;
    }
    default:
      add(Rule::kCreateLocationType,
          "prop.location.type is " + std::to_string(type) +
              (type == kLocationInvisible ? " (INVISIBLE)" : "") +
              ", not DEVICE (1), HOST (2) or HOST_NUMA (3)" +
              (has_domains(platform) ? ", nor a locality domain (6)" : ""),
          true);
  }
}

template <class Add>
void check_prop_types(const Platform& platform, const CUmemAllocationProp& prop, Add& add) {
  const auto types = static_cast<unsigned>(prop.requestedHandleTypes);
  if (types == 0 && !prop.win32HandleMetaData) return;
  if (types & ~kKnownHandleTypes) {
    add(Rule::kCreateHandleTypesKnown,
        "prop.requestedHandleTypes " + hex_text(types) + " holds unknown bits", true);
  }
  if (platform.handle_types != 0 && (types & kKnownHandleTypes & ~platform.handle_types)) {
    add(Rule::kCreateHandleTypesSupported,
        "prop.requestedHandleTypes " + hex_text(types) +
            " holds types that this system lacks (it has " + hex_text(platform.handle_types) + ")",
        true);
  }
  if ((types & kFabric) && !platform.fabric_channel) {
    add(Rule::kCreateFabricChannel,
        "FABRIC handles were requested, and no IMEX channel is accessible",
        platform.fabric_channel_known);
  }
  if (prop.win32HandleMetaData && !(types & CU_MEM_HANDLE_TYPE_WIN32)) {
    add(Rule::kCreateWin32Metadata, "prop.win32HandleMetaData is set without the WIN32 handle type",
        true);
  }
}

template <class Add>
void check_prop_flags(const Platform& platform, const CUmemAllocationProp& prop, Add& add) {
  const auto types = static_cast<unsigned>(prop.requestedHandleTypes);
  const auto& flags = prop.allocFlags;
  static constexpr unsigned char kNone[sizeof flags] = {};
  if (std::memcmp(&flags, kNone, sizeof flags) == 0) [[likely]]
    return;
  if (flags.compressionType > 1) {
    add(Rule::kCreateCompression,
        "prop.allocFlags.compressionType is " + std::to_string(flags.compressionType) +
            ", not 0 or 1",
        true);
  }
  if (flags.gpuDirectRDMACapable > 1) {
    add(Rule::kCreateRdmaBoolean,
        "prop.allocFlags.gpuDirectRDMACapable is " + std::to_string(flags.gpuDirectRDMACapable) +
            ", not 0 or 1",
        true);
  }
  // The domains and this usage bit both came with CUDA 13.4.
  const unsigned newer = has_domains(platform) ? kUsageRdmaOverPcie : 0;
  if (flags.usage & ~(kUsageTilePool | kUsageHwDecompress | newer)) {
    add(Rule::kCreateUsageKnown,
        "prop.allocFlags.usage " + hex_text(flags.usage) + " holds unknown bits", true);
  }
  if ((flags.usage & newer) && !flags.gpuDirectRDMACapable) {
    add(Rule::kCreatePcieRdma,
        "prop.allocFlags.usage asks for RDMA over PCIe, and gpuDirectRDMACapable is 0", true);
  }
  static_assert(std::size(decltype(flags.reserved){}) == 4);
  if (flags.reserved[0] != 0 || flags.reserved[1] != 0 || flags.reserved[2] != 0) {
    add(Rule::kCreateReservedZero, "a byte of prop.allocFlags.reserved[0..2] is not 0", true);
  }
  if (flags.reserved[3] != 0) {
    add(Rule::kCreateReservedTailZero, "prop.allocFlags.reserved[3] is not 0", true);
  }
  if (is_host(prop.location) && (flags.compressionType || flags.gpuDirectRDMACapable)) {
    add(Rule::kCreateHostPlain,
        std::string("prop.allocFlags asks for ") +
            (flags.compressionType ? "compression" : "gpuDirectRDMACapable") +
            " for memory on the host",
        false);
  }
  if ((flags.usage & CU_MEM_CREATE_USAGE_TILE_POOL) && types != 0) {
    add(Rule::kCreateTilePoolPrivate,
        "prop.requestedHandleTypes is " + hex_text(types) + " for TILE_POOL memory, not 0", false);
  }
}

// Checks memory of a locality domain that RDMA is to reach. The only domain of a device is the
// whole device's memory.
template <class Add>
void check_prop_localized(const Platform& platform, const CUmemAllocationProp& prop, Add& add) {
  if (!prop.allocFlags.gpuDirectRDMACapable || (prop.allocFlags.usage & kUsageRdmaOverPcie)) return;
  if (!unreachable_by_rdma(prop.location, platform)) return;
  add(Rule::kCreateLocalizedRdma,
      "gpuDirectRDMACapable is set for " + location(prop.location) +
          ", whose memory RDMA does not reach but over PCIe",
      true);
}

/// Calls add(rule of cuMemCreate, message, certain) per mistake, in the order of the fields.
template <class Add>
void check_prop(const Model& model, const CUmemAllocationProp& prop, Add add) {
  if (prop.type != CU_MEM_ALLOCATION_TYPE_PINNED) {
    add(Rule::kCreateType,
        "prop.type is " + std::to_string(static_cast<int>(prop.type)) + ", not PINNED (1)", true);
  }
  check_prop_location(model.platform(), prop, add);
  check_prop_types(model.platform(), prop, add);
  check_prop_flags(model.platform(), prop, add);
  check_prop_localized(model.platform(), prop, add);
  check_multinode(model.platform(), prop.location, static_cast<unsigned>(prop.requestedHandleTypes),
                  [&](const char* what) { add(Rule::kCreateMultinode, what, true); });
}

}  // namespace cuvmm::detail
