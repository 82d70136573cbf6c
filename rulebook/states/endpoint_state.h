// SPDX-License-Identifier: Apache-2.0
// The model's logical endpoints: the ids that this process reserved, and the endpoints that it made
// with them.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>

#include "api/calls.h"
#include "rulebook/objects/endpoint_objects.h"
#include "rulebook/states/surroundings.h"

namespace cuvmm {

/// The memory that a bind names: its handle and the offset there; handle 0 when unknown.
std::pair<Handle, Size> memory_of(const EndpointBind& bind, const UnicastState& vmm);

/// The verbs are those of UnicastState.
///
/// A binding outlives the handles of its memory. The checks ask the table of allocations whether
/// the memory is alive, so that a release costs nothing for programs without endpoints.
class EndpointState {
 public:
  const std::map<std::uint32_t, EndpointIds>& ids() const { return ids_; }  ///< by base
  const std::unordered_map<std::uint32_t, Endpoint>& endpoints() const { return endpoints_; }
  /// The reserved range that holds the id, or null.
  const EndpointIds* reserved(std::uint32_t id) const;
  const Endpoint* find(std::uint32_t id) const {
    const auto found = endpoints_.find(id);
    return found == endpoints_.end() ? nullptr : &found->second;
  }

  void begin(const calls::LogicalEndpointIdRelease& call, Origin at, const Surroundings& around,
             Retired& retired);
  void begin(const calls::LogicalEndpointDestroy& call, Origin at, const Surroundings& around,
             Retired& retired);
  void begin(const calls::LogicalEndpointUnbind& call, Origin at, const Surroundings& around,
             Retired& retired);

  void confirm(const calls::LogicalEndpointIdReserve& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const calls::LogicalEndpointCreate& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const calls::LogicalEndpointAddDevice& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const calls::LogicalEndpointBindAddr& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const calls::LogicalEndpointBindMem& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const calls::LogicalEndpointExport& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const calls::LogicalEndpointImport& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const calls::LogicalEndpointQuery& call, const Facts& facts, Origin at,
               const Surroundings& around);

  void undo(const RarelyRetired& taken, Origin at, const Surroundings& around);

 private:
  void bind(const EndpointBind& bind, Origin at, const UnicastState& vmm);
  // The endpoint of an id that a call accepted. Makes the endpoint if the model does not know it,
  // because the driver accepts only ids of endpoints.
  Endpoint& known(std::uint32_t id, Origin at);

  std::map<std::uint32_t, EndpointIds> ids_;
  std::unordered_map<std::uint32_t, Endpoint> endpoints_;
};

}  // namespace cuvmm
