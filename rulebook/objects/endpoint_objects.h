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

/// Ids [base, base + count) that one cuLogicalEndpointIdReserve gave, or a rest of them.
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
  int owner = -1;               ///< device of a unicast endpoint, -1 unknown
  unsigned team = 0;            ///< how many devices a multicast endpoint has, 0 unknown
  std::uint64_t size = 0;       ///< bytes for each device, 0 unknown
  std::uint64_t alignment = 0;  ///< bindAlignment, bytes, 0 unknown
  unsigned handle_types = 0;    ///< of an endpoint that this process created
  bool imported = false;
  bool shared = false;      ///< exported or imported: other processes may add devices and bind
  bool ready = false;       ///< cuLogicalEndpointQuery answered that it is
  std::uint64_t added = 0;  ///< mask of the devices that this process added
  std::vector<EndpointBinding> bindings;  ///< of this process
  Origin made;

  bool unicast() const { return type == CU_LOGICAL_ENDPOINT_TYPE_UNICAST; }
  bool multicast() const { return type == CU_LOGICAL_ENDPOINT_TYPE_MULTICAST; }
};

/// A call that binds memory to an endpoint, by handle or by address.
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

/// The objects about endpoints that a call gave up.
struct RetiredEndpoints {
  std::vector<EndpointIds> ids;
  std::vector<Endpoint> endpoints;
  std::vector<EndpointBinding> bindings;
};

}  // namespace cuvmm
