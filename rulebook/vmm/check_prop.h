// SPDX-License-Identifier: Apache-2.0
// Checks the properties for cuMemCreate. cuMemGetAllocationGranularity takes the same ones.
#pragma once

#include <iterator>

#include "api/location.h"
#include "rulebook/check_support.h"

namespace cuvmm::detail {

inline constexpr unsigned kFabric = 8;
inline constexpr unsigned kKnownHandleTypes = 1 | 2 | 4 | kFabric;

// The three parts of check_prop().
template <class Add>
void check_prop_location(const Platform& platform, const CUmemAllocationProp& prop, Add& add) {
  const int id = prop.location.id;
  const auto types = static_cast<unsigned>(prop.requestedHandleTypes);
  switch (static_cast<int>(prop.location.type)) {
    case kLocationDevice:
      if (id < 0 || (platform.device_count >= 0 && id >= platform.device_count)) {
        add(Rule::kCreateLocationDevice,
            "prop.location.id is " + std::to_string(id) + ", and there are " +
                (platform.device_count >= 0 ? std::to_string(platform.device_count)
                                            : std::string("fewer")) +
                " devices",
            true);
      }
      break;
    case kLocationHost:
      if (types != 0) {
        add(Rule::kCreateHostHandleTypes,
            "prop.requestedHandleTypes is " + std::to_string(types) + " for HOST memory, not 0",
            true);
      }
      break;
    case kLocationHostNuma: {
      const bool in_mask = id >= 0 && id < 64 && (platform.numa_nodes >> id & 1);
      // Not every node that exists can back memory, and only the driver knows which. It has another
      // reason to refuse memory on the host that is to be compressed, or reachable by RDMA.
      const bool other_reason = prop.allocFlags.compressionType ||
                                prop.allocFlags.gpuDirectRDMACapable || prop.allocFlags.usage;
      if (!in_mask || (!platform.complete && !other_reason)) {
        add(Rule::kCreateNumaNode,
            "prop.location.id " + std::to_string(id) + " is not a NUMA node that can hold memory",
            id < 0 || (platform.numa_nodes != 0 && !in_mask));
      }
      break;
    }
    default:
      add(Rule::kCreateLocationType,
          "prop.location.type is " + std::to_string(static_cast<int>(prop.location.type)) +
              ", not DEVICE (1), HOST (2) or HOST_NUMA (3)",
          true);
  }
}

template <class Add>
void check_prop_types(const Platform& platform, const CUmemAllocationProp& prop, Add& add) {
  const auto types = static_cast<unsigned>(prop.requestedHandleTypes);
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
void check_prop_flags(const CUmemAllocationProp& prop, Add& add) {
  const auto types = static_cast<unsigned>(prop.requestedHandleTypes);
  const auto& flags = prop.allocFlags;
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
  if (flags.usage & ~3u) {
    add(Rule::kCreateUsageKnown,
        "prop.allocFlags.usage " + hex_text(flags.usage) + " holds unknown bits", true);
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

/// Calls add(rule of cuMemCreate, message, certain) per problem, in the order of the fields.
template <class Add>
void check_prop(const Model& model, const CUmemAllocationProp& prop, Add add) {
  if (prop.type != CU_MEM_ALLOCATION_TYPE_PINNED) {
    add(Rule::kCreateType,
        "prop.type is " + std::to_string(static_cast<int>(prop.type)) + ", not PINNED (1)", true);
  }
  check_prop_location(model.platform(), prop, add);
  check_prop_types(model.platform(), prop, add);
  check_prop_flags(prop, add);
}

}  // namespace cuvmm::detail
