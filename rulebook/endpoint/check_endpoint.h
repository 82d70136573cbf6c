// SPDX-License-Identifier: Apache-2.0
// What the checks of logical endpoints share. Internal to rulebook/.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "rulebook/check/check_support.h"

namespace cuvmm::detail {

/// Whether the id of a call is reserved; a violation where it is known not to be.
bool check_endpoint_id(Collector& out, const Model& model, std::uint32_t id);

/// The endpoint of an id; null (with a violation unless the id is merely unknown) when nothing is
/// known of it. `where` begins the message: "copy 3, dst: ".
const Endpoint* check_endpoint(Collector& out, const Model& model, std::uint32_t id,
                               const std::string& where = {});

/// "endpoint 7".
[[gnu::cold]] std::string endpoint_text(std::uint32_t id);

/// What of a binding is still so: its memory may have ended since.
bool still_bound(const Model& model, const EndpointBinding& binding);

/// Whether the device is certainly not one of the endpoint's: neither its owner nor added.
/// `certain` is cleared where another process may have added it.
bool not_of_endpoint(const Endpoint& endpoint, int device, const Facts& facts, bool& certain);

/// Whether two devices are known to share no clique of this type.
bool cliques_differ(const Model& model, int a, int b, CUcliqueType type);
/// The first device of a mask that is in no clique with `device`; nothing when there is none, or
/// when the driver does not tell.
std::optional<int> outside_clique(const Model& model, std::uint64_t devices, int device,
                                  CUcliqueType type);

/// Leaks of ids and endpoints.
void check_endpoint_exit(Collector& out, const Model& model);

[[gnu::cold]] ObjectRef ref(const EndpointIds& ids);
[[gnu::cold]] ObjectRef ref(const Endpoint& endpoint);
[[gnu::cold]] ObjectRef ref(const EndpointBinding& binding);

}  // namespace cuvmm::detail
