// SPDX-License-Identifier: Apache-2.0
// Calls about logical endpoints in a World, for tests.
#pragma once

#include "rulebook/testing/world.h"

namespace cuvmm::testing {

inline constexpr CUlogicalEndpointId kIds = 1;  ///< the first of kIdCount that are reserved
inline constexpr std::uint32_t kIdCount = 8;
inline constexpr CUlogicalEndpointId kUnicast = 1, kTeam = 2, kNew = 5;
inline constexpr Handle kEndpointMemory = 0x100;

inline void reserve_ids(World& w, CUlogicalEndpointId base = kIds, std::uint32_t count = kIdCount) {
  CUlogicalEndpointId out = base;
  w.accept(calls::LogicalEndpointIdReserve{.baseLeId = &out, .count = count});
}

inline CUlogicalEndpointProp unicast_prop(int device = 0, unsigned handle_types = 0) {
  CUlogicalEndpointProp prop{};
  prop.type = CU_LOGICAL_ENDPOINT_TYPE_UNICAST;
  prop.unicast.device = device;
  prop.size = 4 * kGranule;
  prop.ipcHandleTypes = handle_types;
  return prop;
}
inline CUlogicalEndpointProp team_prop(unsigned devices = 2, unsigned handle_types = 0) {
  CUlogicalEndpointProp prop = unicast_prop(0, handle_types);
  prop.type = CU_LOGICAL_ENDPOINT_TYPE_MULTICAST;
  prop.multicast.numDevices = devices;
  return prop;
}

inline Facts endpoint_limits() {
  Facts facts;
  facts.endpoint.alignment = kGranule;
  facts.endpoint.max_size = 8 * kGranule;
  return facts;
}
inline void create_endpoint(World& w, CUlogicalEndpointId id, const CUlogicalEndpointProp& prop) {
  w.accept(calls::LogicalEndpointCreate{.leId = id, .prop = &prop}, endpoint_limits());
}
inline void add_to_endpoint(World& w, CUlogicalEndpointId id, int device) {
  w.accept(calls::LogicalEndpointAddDevice{.leId = id, .dev = device});
}
inline void query(World& w, CUlogicalEndpointId id, int answer = 1, std::uint32_t count = 1) {
  w.accept(calls::LogicalEndpointQuery{.leId = id, .count = count, .queryStatus = &answer});
}
inline void import_endpoint(World& w, CUlogicalEndpointId id, unsigned type) {
  Facts facts = endpoint_limits();
  facts.endpoint.type = type;
  facts.endpoint.devices = type == CU_LOGICAL_ENDPOINT_TYPE_MULTICAST ? 2 : 1;
  facts.endpoint.size = 4 * kGranule;
  static constexpr char kBytes[64] = {};
  w.accept(
      calls::LogicalEndpointImport{
          .leId = id, .handle = kBytes, .handleType = CU_LOGICAL_ENDPOINT_IPC_HANDLE_TYPE_FABRIC},
      facts);
}

/// Two endpoints that are ready, one of device 0 and one of both devices, and memory of device 0 to
/// bind.
inline void endpoints(World& w, unsigned handle_types = 0, unsigned memory_types = 0) {
  reserve_ids(w);
  create_endpoint(w, kUnicast, unicast_prop(0, handle_types));
  create_endpoint(w, kTeam, team_prop(2, handle_types));
  add_to_endpoint(w, kTeam, 0);
  add_to_endpoint(w, kTeam, 1);
  query(w, kUnicast, 1, 2);
  w.create(kEndpointMemory, 2, device_prop(0, memory_types));
}

inline calls::LogicalEndpointBindMem endpoint_bind(CUlogicalEndpointId id = kUnicast,
                                                   std::uint64_t granules = 1) {
  return {.leId = id,
          .dev = 0,
          .offset = 0,
          .memHandle = kEndpointMemory,
          .memOffset = 0,
          .size = granules * kGranule,
          .flags = 0};
}

}  // namespace cuvmm::testing
