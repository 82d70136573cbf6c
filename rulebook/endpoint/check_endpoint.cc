// SPDX-License-Identifier: Apache-2.0
// cuLogicalEndpoint*: ids, endpoints, teams, exports and imports. The binds are in
// check_endpoint_bind.cc.
#include "rulebook/endpoint/check_endpoint.h"

#include <bit>

namespace cuvmm {
using namespace detail;

namespace detail {

ObjectRef ref(const EndpointIds& ids) {
  return {ObjectRef::Kind::kEndpointId, ids.base, ids.count, ids.made, {}};
}
ObjectRef ref(const Endpoint& endpoint) {
  return {ObjectRef::Kind::kEndpoint, endpoint.id, endpoint.size, endpoint.made, {}};
}
ObjectRef ref(const EndpointBinding& binding) {
  return {ObjectRef::Kind::kEndpointBinding, binding.offset, binding.size, binding.made, {}};
}

std::string endpoint_text(std::uint32_t id) { return "endpoint " + std::to_string(id); }

bool check_endpoint_id(Collector& out, const Model& model, std::uint32_t id) {
  if (model.endpoints().reserved(id)) return true;
  const auto released = model.tombstones().find_covering(ObjectRef::Kind::kEndpointId, id);
  // Another library may have reserved the id since.
  Violation& v =
      out.add(Rule::kEpIdReserved,
              "id " + std::to_string(id) + (released ? " was released" : " was not reserved"),
              model.platform().complete);
  if (released) v.objects.push_back(*released);
  return false;
}

const Endpoint* check_endpoint(Collector& out, const Model& model, std::uint32_t id,
                               const std::string& where) {
  if (const Endpoint* endpoint = model.endpoints().find(id)) return endpoint;
  const auto destroyed = model.tombstones().find(ObjectRef::Kind::kEndpoint, id);
  // An id that this process reserved has no endpoint if cuvmm saw neither a create nor an import.
  const bool certain = model.platform().complete || model.endpoints().reserved(id) != nullptr;
  Violation& v = out.add(Rule::kEpExists,
                         where + endpoint_text(id) +
                             (destroyed ? " was destroyed" : " was neither created nor imported"),
                         certain);
  if (destroyed) v.objects.push_back(*destroyed);
  return nullptr;
}

bool still_bound(const Model& model, const EndpointBinding& binding) {
  return binding.memory == 0 || model.allocation(binding.memory) != nullptr;
}

bool not_of_endpoint(const Endpoint& endpoint, int device, const Facts& facts, bool& certain) {
  if (endpoint.unicast()) {
    certain = true;
    return endpoint.owner >= 0 && endpoint.owner != device;
  }
  if (!endpoint.multicast()) return false;
  certain = facts.endpoint.team.has_value() || !endpoint.shared;
  const std::uint64_t added = facts.endpoint.team.value_or(endpoint.added);
  return device < 0 || device >= 63 || (added >> device & 1) == 0;
}

bool cliques_differ(const Model& model, int a, int b, CUcliqueType type) {
  const auto& all = model.platform().cliques;
  const auto known = [&](int device) {
    return device >= 0 && static_cast<std::size_t>(device) < all.size();
  };
  if (!known(a) || !known(b)) return false;
  bool any_a = false, any_b = false;
  for (const Platform::Clique& one : all[static_cast<std::size_t>(a)]) {
    if (one.type != static_cast<std::uint32_t>(type)) continue;
    any_a = true;
    for (const Platform::Clique& other : all[static_cast<std::size_t>(b)]) {
      if (other.type != one.type) continue;
      any_b = true;
      if (other.id == one.id) return false;
    }
  }
  return any_a && any_b;
}

std::optional<int> outside_clique(const Model& model, std::uint64_t devices, int device,
                                  CUcliqueType type) {
  for (int other = 0; other < 63; ++other) {
    if ((devices >> other & 1) != 0 && cliques_differ(model, other, device, type)) return other;
  }
  return std::nullopt;
}

void check_endpoint_exit(Collector& out, const Model& model) {
  for (const auto& [id, endpoint] : model.endpoints().endpoints()) {
    out.add(Rule::kEpLeak, endpoint_text(id) + " was never destroyed")
        .objects.push_back(ref(endpoint));
  }
  for (const auto& [base, ids] : model.endpoints().ids()) {
    bool used = false;
    for (const auto& entry : model.endpoints().endpoints()) {
      if (entry.first - ids.base < ids.count) used = true;
    }
    if (used) continue;  // the finding about the endpoint covers it
    out.add(Rule::kEpIdLeak, std::to_string(ids.count) + " ids from " + std::to_string(base) +
                                 " on were never released")
        .objects.push_back(ref(ids));
  }
}

}  // namespace detail

namespace {

constexpr unsigned kKnownHandleTypes = CU_LOGICAL_ENDPOINT_IPC_HANDLE_TYPE_FABRIC;
constexpr unsigned kKnownFlags = CU_LOGICAL_ENDPOINT_FLAG_COUNTED_OPS;

bool device_exists(const Model& model, int device) {
  const int count = model.platform().device_count;
  return device >= 0 && (count < 0 || device < count);
}

bool in(std::uint64_t mask, int device) {
  return device >= 0 && device < 63 && (mask >> device & 1) != 0;
}

// Calls add(rule of cuLogicalEndpointCreate, message) for mistakes that do not depend on the size.
template <class Add>
void check_prop(const Model& model, const CUlogicalEndpointProp& prop, Add add) {
  const auto type = static_cast<unsigned>(prop.type);
  if (type == CU_LOGICAL_ENDPOINT_TYPE_UNICAST) {
    if (!device_exists(model, prop.unicast.device)) {
      add(Rule::kEpCreateDevice,
          "device " + std::to_string(prop.unicast.device) + " does not exist");
    }
  } else if (type == CU_LOGICAL_ENDPOINT_TYPE_MULTICAST) {
    if (prop.multicast.numDevices == 0) {
      add(Rule::kEpCreateDevices, std::string("prop.multicast.numDevices is 0"));
    }
  } else {
    add(Rule::kEpCreateType, "prop.type is " + std::to_string(type));
  }
  if ((prop.ipcHandleTypes & ~kKnownHandleTypes) != 0) {
    add(Rule::kEpCreateHandleTypes,
        "prop.ipcHandleTypes " + hex_text(prop.ipcHandleTypes) + " holds unknown bits");
  }
  if ((prop.flags & ~kKnownFlags) != 0) {
    add(Rule::kEpCreateFlags, "prop.flags " + hex_text(prop.flags) + " holds unknown bits");
  }
}

void check_supported(Collector& out, const Model& model, const CUlogicalEndpointProp& prop) {
  const Platform::Endpoints& supported = model.platform().endpoints;
  if (!supported.known) return;
  const auto type = static_cast<unsigned>(prop.type);
  const bool unicast = type == CU_LOGICAL_ENDPOINT_TYPE_UNICAST;
  const int owner = prop.unicast.device;
  if (unicast && device_exists(model, owner) && !in(supported.unicast, owner)) {
    out.add(Rule::kEpCreateUnicast,
            "device " + std::to_string(owner) + " does not support unicast endpoints");
  }
  if (type == CU_LOGICAL_ENDPOINT_TYPE_MULTICAST && supported.multicast == 0) {
    out.add(Rule::kEpCreateMulticast, "no device of this machine supports multicast endpoints");
  }
  const bool counted = unicast ? in(supported.counted, owner) || !device_exists(model, owner)
                               : supported.counted != 0;
  if ((prop.flags & CU_LOGICAL_ENDPOINT_FLAG_COUNTED_OPS) != 0 && !counted) {
    out.add(Rule::kEpCreateCounted,
            unicast ? "device " + std::to_string(owner) + " does not support counted operations"
                    : "no device supports counted operations");
  }
  const unsigned wanted = prop.ipcHandleTypes & kKnownHandleTypes;
  if (supported.handle_types_known && (wanted & ~supported.handle_types) != 0) {
    out.add(Rule::kEpCreateHandleTypesSupported,
            "no device exports endpoints with the handle types " + hex_text(wanted));
  }
}

void check_vacant_id(Collector& out, const Model& model, std::uint32_t id) {
  const Endpoint* endpoint = model.endpoints().find(id);
  if (!endpoint) return;
  // The documentation does not say this, so it needs the driver's refusal.
  out.add(Rule::kEpIdFree, endpoint_text(id) + " exists already", false)
      .objects.push_back(ref(*endpoint));
}

bool fabric(CUlogicalEndpointIpcHandleType type) {
  return static_cast<unsigned>(type) == CU_LOGICAL_ENDPOINT_IPC_HANDLE_TYPE_FABRIC;
}

std::string handle_type_text(CUlogicalEndpointIpcHandleType type) {
  return "handleType is " + std::to_string(static_cast<unsigned>(type)) + ", not 1 (fabric)";
}

}  // namespace

Violations check(const Model& model, const calls::LogicalEndpointIdReserve& call,
                 const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  if (!call.baseLeId) out.add(Rule::kEpReserveOutNonnull, "baseLeId is NULL");
  if (call.count == 0) out.add(Rule::kEpReserveCount, "count is 0");
  if (model.platform().endpoints.none()) {
    out.add(Rule::kEpReserveSupported, "no device of this machine supports logical endpoints");
  }
  return out.take();
}

Violations check(const Model& model, const calls::LogicalEndpointIdRelease& call,
                 const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  // Ranges that follow each other may be released together.
  std::uint64_t next = call.baseLeId;
  const std::uint64_t end = next + call.count;
  while (next < end) {
    const EndpointIds* ids = next > ~std::uint32_t{0}
                                 ? nullptr
                                 : model.endpoints().reserved(static_cast<std::uint32_t>(next));
    if (!ids) {
      const auto id = static_cast<std::uint32_t>(next);
      const auto released = model.tombstones().find_covering(ObjectRef::Kind::kEndpointId, id);
      Violation& v = out.add(
          Rule::kEpReleaseReserved,
          "id " + std::to_string(next) + (released ? " was released already" : " was not reserved"),
          model.platform().complete);
      if (released) v.objects.push_back(*released);
      break;
    }
    next = std::uint64_t{ids->base} + ids->count;
  }
  const Endpoint* first = nullptr;
  for (const auto& [id, endpoint] : model.endpoints().endpoints()) {
    if (id - call.baseLeId < call.count && (!first || id < first->id)) first = &endpoint;
  }
  if (first) {
    out.add(Rule::kEpReleaseUnused, endpoint_text(first->id) + " still exists")
        .objects.push_back(ref(*first));
  }
  return out.take();
}

Violations check(const Model& model, const calls::LogicalEndpointCreate& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  check_endpoint_id(out, model, call.leId);
  check_vacant_id(out, model, call.leId);
  if (!call.prop) {
    out.add(Rule::kEpCreatePropNonnull, "prop is NULL");
    return out.take();
  }
  check_prop(model, *call.prop,
             [&](Rule rule, const std::string& message) { out.add(rule, message); });
  check_supported(out, model, *call.prop);
  const Size size = call.prop->size;
  if (size == 0) {
    out.add(Rule::kEpCreateSizeNonzero, "prop.size is 0");
  } else if (facts.endpoint.alignment != 0 && size % facts.endpoint.alignment != 0) {
    out.add(Rule::kEpCreateSizeAligned, "prop.size " + size_text(size) +
                                            " is not a multiple of bindAlignment, " +
                                            size_text(facts.endpoint.alignment));
  }
  if (facts.endpoint.max_size != 0 && size > facts.endpoint.max_size) {
    out.add(Rule::kEpCreateSizeMax, "prop.size " + size_text(size) + " is more than maxSize, " +
                                        size_text(facts.endpoint.max_size));
  }
  return out.take();
}

Violations check(const Model& model, const calls::LogicalEndpointAddDevice& call,
                 const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  const Endpoint* endpoint = check_endpoint(out, model, call.leId);
  if (endpoint && endpoint->unicast()) {
    out.add(Rule::kEpAddMulticast, endpoint_text(call.leId) + " is a unicast endpoint")
        .objects.push_back(ref(*endpoint));
    endpoint = nullptr;
  }
  if (!device_exists(model, call.dev)) {
    out.add(Rule::kEpAddDeviceExists, "device " + std::to_string(call.dev) + " does not exist");
    return out.take();
  }
  const Platform::Endpoints& supported = model.platform().endpoints;
  if (supported.known && !in(supported.multicast, call.dev)) {
    out.add(Rule::kEpAddSupported,
            "device " + std::to_string(call.dev) + " does not support multicast endpoints");
  }
  if (!endpoint) return out.take();
  const std::uint64_t added = facts.endpoint.team.value_or(endpoint->added);
  const bool certain = facts.endpoint.team.has_value() || !endpoint->shared;
  if (in(added, call.dev)) {
    out.add(Rule::kEpAddOnce, "device " + std::to_string(call.dev) + " was added already")
        .objects.push_back(ref(*endpoint));
  } else if (endpoint->team != 0 &&
             static_cast<unsigned>(std::popcount(added)) + facts.endpoint.hidden >=
                 endpoint->team) {
    out.add(Rule::kEpAddLimit,
            "the team of " + std::to_string(endpoint->team) + " devices is complete")
        .objects.push_back(ref(*endpoint));
  } else if (!certain) {
    out.add(Rule::kEpAddOnce,
            "device " + std::to_string(call.dev) + " may have been added by another process", false)
        .objects.push_back(ref(*endpoint));
  }
  // Either this call or a later query may fail, so this only explains a refusal.
  if (const auto other =
          outside_clique(model, added, call.dev, CU_CLIQUE_TYPE_MULTICAST_LOGICAL_ENDPOINT)) {
    out.add(Rule::kEpAddClique,
            "device " + std::to_string(call.dev) + " is in no clique with device " +
                std::to_string(*other) + ", which was added before",
            false)
        .objects.push_back(ref(*endpoint));
  }
  return out.take();
}

Violations check(const Model& model, const calls::LogicalEndpointDestroy& call,
                 const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  check_endpoint(out, model, call.leId);
  return out.take();
}

Violations check(const Model& model, const calls::LogicalEndpointExport& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  if (!call.handle) out.add(Rule::kEpExportOutNonnull, "handle is NULL");
  if (!fabric(call.handleType)) {
    out.add(Rule::kEpExportType, handle_type_text(call.handleType));
  }
  const Endpoint* endpoint = check_endpoint(out, model, call.leId);
  if (!endpoint || endpoint->imported || !fabric(call.handleType)) return out.take();
  if ((endpoint->handle_types & CU_LOGICAL_ENDPOINT_IPC_HANDLE_TYPE_FABRIC) == 0) {
    out.add(Rule::kEpExportAllowed,
            endpoint_text(call.leId) + " was created without this handle type")
        .objects.push_back(ref(*endpoint));
  }
  return out.take();
}

Violations check(const Model& model, const calls::LogicalEndpointImport& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  check_endpoint_id(out, model, call.leId);
  check_vacant_id(out, model, call.leId);
  if (!fabric(call.handleType)) {
    out.add(Rule::kEpImportType, handle_type_text(call.handleType));
  }
  if (!call.handle) {
    out.add(Rule::kEpImportNonnull, "handle is NULL");
  } else if (facts.endpoint.handle_valid == Facts::Answer::kNo) {
    out.add(Rule::kEpImportValid, "the bytes at handle name no endpoint that still exists");
  }
  return out.take();
}

Violations check(const Model& model, const calls::LogicalEndpointGetLimits& call,
                 const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  if (!call.bindAlignment) out.add(Rule::kEpLimitsAlignmentNonnull, "bindAlignment is NULL");
  if (!call.maxSize) out.add(Rule::kEpLimitsMaxNonnull, "maxSize is NULL");
  if (!call.prop) {
    out.add(Rule::kEpLimitsPropNonnull, "prop is NULL");
    return out.take();
  }
  std::string problems;
  check_prop(model, *call.prop, [&](Rule, const std::string& message) {
    problems += (problems.empty() ? "" : "; ") + message;
  });
  if (!problems.empty()) out.add(Rule::kEpLimitsPropValid, problems);
  return out.take();
}

Violations check(const Model& model, const calls::LogicalEndpointQuery& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  if (!call.queryStatus) out.add(Rule::kEpQueryOutNonnull, "queryStatus is NULL");
  // A very large count must not take for ever, so the first id without an endpoint ends the search.
  for (std::uint32_t i = 0; i < call.count; ++i) {
    if (!check_endpoint(out, model, call.leId + i)) break;
  }
  return out.take();
}

}  // namespace cuvmm
