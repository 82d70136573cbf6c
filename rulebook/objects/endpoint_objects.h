// SPDX-License-Identifier: Apache-2.0
// Logical endpoints, their ids and bindings, and the calls that bind.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "api/calls.h"
#include "rulebook/base/violation.h"

namespace cuvmm {

/// Ids [base, base + count) that one cuLogicalEndpointIdReserve gave, or what is left of them.
struct EndpointIds {
  std::uint32_t base = 0;
  std::uint32_t count = 0;
  Origin made;
};

/// Memory of one device bound at [offset, offset + size) of an endpoint.
struct EndpointBinding {
  std::uint32_t endpoint = 0;
  int device = -1;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  CUmemGenericAllocationHandle memory = 0;  ///< 0 unknown
  Origin made;
};

/// A logical endpoint as this process sees it.
struct Endpoint {
  std::uint32_t id = 0;
  unsigned type = 0;            ///< CUlogicalEndpointType, 0 unknown
  int owner = -1;               ///< of a unicast one, -1 unknown
  unsigned team = 0;            ///< how many devices a multicast one has, 0 unknown
  std::uint64_t size = 0;       ///< bytes for each device, 0 unknown
  std::uint64_t alignment = 0;  ///< bindAlignment, bytes, 0 unknown
  unsigned handle_types = 0;    ///< of a created one
  bool imported = false;
  bool shared = false;      ///< exported or imported: other processes may add devices and bind
  bool ready = false;       ///< cuLogicalEndpointQuery said so
  std::uint64_t added = 0;  ///< mask of the devices that this process added
  std::vector<EndpointBinding> bindings;  ///< of this process
  Origin made;

  bool unicast() const { return type == CU_LOGICAL_ENDPOINT_TYPE_UNICAST; }
  bool multicast() const { return type == CU_LOGICAL_ENDPOINT_TYPE_MULTICAST; }
};

/// A call that binds, whichever of the two it is.
struct EndpointBind {
  std::uint32_t endpoint = 0;
  int device = -1;
  std::uint64_t offset = 0;
  bool by_address = false;
  CUmemGenericAllocationHandle memory = 0;  ///< unless by_address
  std::uint64_t address = 0;                ///< if by_address
  std::uint64_t memory_offset = 0;          ///< unless by_address
  std::uint64_t size = 0;
  unsigned long long flags = 0;
};
inline EndpointBind bind_of(const calls::LogicalEndpointBindMem& call) {
  return {.endpoint = call.leId,
          .device = call.dev,
          .offset = call.offset,
          .by_address = false,
          .memory = call.memHandle,
          .address = 0,
          .memory_offset = call.memOffset,
          .size = call.size,
          .flags = call.flags};
}
inline EndpointBind bind_of(const calls::LogicalEndpointBindAddr& call) {
  return {.endpoint = call.leId,
          .device = call.dev,
          .offset = call.offset,
          .by_address = true,
          .memory = 0,
          .address = reinterpret_cast<std::uintptr_t>(call.ptr),
          .memory_offset = 0,
          .size = call.size,
          .flags = call.flags};
}

/// What a call gave up.
struct RetiredEndpoints {
  std::vector<EndpointIds> ids;
  std::vector<Endpoint> endpoints;
  std::vector<EndpointBinding> bindings;
};

}  // namespace cuvmm
