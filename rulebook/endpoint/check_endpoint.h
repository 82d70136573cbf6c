// SPDX-License-Identifier: Apache-2.0
// Functions that several checks of logical endpoints use. Internal to rulebook/.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "rulebook/check/check_support.h"

namespace cuvmm::detail {

/// Whether the id of a call is reserved, as far as is known. Adds a violation if it is known not to
/// be.
bool check_endpoint_id(Collector& out, const Model& model, std::uint32_t id);

/// The endpoint of an id; null if nothing is known about it, with a violation unless the id is
/// merely unknown. `where` begins the message: "copy 3, dst: ".
const Endpoint* check_endpoint(Collector& out, const Model& model, std::uint32_t id,
                               const std::string& where = {});

/// "endpoint 7".
[[gnu::cold]] std::string endpoint_text(std::uint32_t id);

/// Whether the memory of the binding is still alive.
bool still_bound(const Model& model, const EndpointBinding& binding);

/// Whether the device does not belong to the endpoint: the device is neither its owner nor added.
/// Clears `certain` if another process may have added the device.
bool not_of_endpoint(const Endpoint& endpoint, int device, const Facts& facts, bool& certain);

/// Whether two devices are known to share no clique of this type.
bool cliques_differ(const Model& model, int a, int b, CUcliqueType type);
/// The first device of a mask that is in no clique with `device`; nothing if there is no such
/// device, or if the driver does not say.
std::optional<int> outside_clique(const Model& model, std::uint64_t devices, int device,
                                  CUcliqueType type);

/// Adds the leaks of ids and endpoints.
void check_endpoint_exit(Collector& out, const Model& model);

[[gnu::cold]] ObjectRef ref(const EndpointIds& ids);
[[gnu::cold]] ObjectRef ref(const Endpoint& endpoint);
[[gnu::cold]] ObjectRef ref(const EndpointBinding& binding);

}  // namespace cuvmm::detail
