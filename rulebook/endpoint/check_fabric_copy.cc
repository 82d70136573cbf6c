// SPDX-License-Identifier: Apache-2.0
// cuFabricCpyBatchAsync: copies between pointers and logical endpoints.
#include <algorithm>
#include <vector>

#include "api/default_stream.h"
#include "rulebook/check/check_prop.h"
#include "rulebook/check/touch.h"
#include "rulebook/endpoint/check_endpoint.h"

namespace cuvmm {
using namespace detail;

namespace {

// A batch may have any length, so the checks stop after this many violations.
constexpr std::size_t kMostFound = 16;

bool is_endpoint(const CUfabricCpyOperand& operand) {
  return static_cast<unsigned>(operand.type) == CU_FABRIC_COPY_OPERAND_TYPE_LOGICAL_ENDPOINT;
}
bool is_pointer(const CUfabricCpyOperand& operand) {
  return static_cast<unsigned>(operand.type) == CU_FABRIC_COPY_OPERAND_TYPE_POINTER;
}

/// A batch whose copies are checked one by one.
struct Batch {
  const Model& model;
  const Facts& facts;
  Collector& out;
};

bool check_side(const Batch& batch, const std::string& where, const CUfabricCpyOperand& operand) {
  if (is_endpoint(operand) || is_pointer(operand)) return true;
  batch.out.add(Rule::kFcOperandType,
                where + "type is " + std::to_string(static_cast<unsigned>(operand.type)));
  return false;
}

// Checks that each byte of an endpoint is bound, if no other process can bind there.
void check_bound(const Batch& batch, const std::string& where, const Endpoint& endpoint,
                 Size offset, Size size) {
  if (endpoint.shared || endpoint.type == 0) return;
  const std::uint64_t devices =
      endpoint.unicast() ? std::uint64_t{1} << (endpoint.owner & 63) : endpoint.added;
  for (int device = 0; device < 63; ++device) {
    if ((devices >> device & 1) == 0) continue;
    Size at = offset;
    Size left = size;
    while (left != 0) {
      const auto found = std::find_if(
          endpoint.bindings.begin(), endpoint.bindings.end(), [&](const EndpointBinding& b) {
            return b.device == device && at >= b.offset && at - b.offset < b.size;
          });
      if (found == endpoint.bindings.end()) {
        batch.out
            .add(Rule::kFcEndpointBound, where + "device " + std::to_string(device) +
                                             " has nothing bound at offset " + size_text(at) +
                                             " of " + endpoint_text(endpoint.id))
            .objects.push_back(ref(endpoint));
        return;
      }
      const Size run = found->size - (at - found->offset);
      if (run >= left) break;
      at += run;
      left -= run;
    }
  }
}

void check_endpoint_side(const Batch& batch, const std::string& where,
                         const CUfabricCpyOperand& operand, Size size, bool source) {
  const std::uint32_t id = operand.op.le.id;
  const Size offset = operand.op.le.offset;
  const Endpoint* endpoint = check_endpoint(batch.out, batch.model, id, where);
  if (!endpoint) return;
  const std::size_t before = batch.out.empty() ? 0 : 1;
  static_cast<void>(before);
  if (source && endpoint->multicast()) {
    batch.out.add(Rule::kFcSourceUnicast, where + endpoint_text(id) + " is a multicast endpoint")
        .objects.push_back(ref(*endpoint));
  }
  if (!endpoint->ready) {
    batch.out
        .add(Rule::kFcEndpointReady, where + "cuLogicalEndpointQuery has not answered yet that " +
                                         endpoint_text(id) + " is ready")
        .objects.push_back(ref(*endpoint));
    return;
  }
  const Platform::Endpoints& supported = batch.model.platform().endpoints;
  const int device = batch.facts.place.device;
  if (endpoint->unicast() && endpoint->owner >= 0 && endpoint->owner == device && supported.known &&
      (supported.on_owner >> (device & 63) & 1) == 0) {
    batch.out
        .add(Rule::kFcOwnerAccess, where + endpoint_text(id) + " belongs to device " +
                                       std::to_string(device) + ", which copies")
        .objects.push_back(ref(*endpoint));
  }
  if (endpoint->size != 0 && (offset > endpoint->size || size > endpoint->size - offset)) {
    batch.out
        .add(Rule::kFcEndpointInside, where + size_text(size) + " at offset " + size_text(offset) +
                                          " go past the end of " + endpoint_text(id) +
                                          ", which has " + size_text(endpoint->size))
        .objects.push_back(ref(*endpoint));
    return;
  }
  check_bound(batch, where, *endpoint, offset, size);
}

// Whether the memory at an address is known to be on another device.
bool remote(const Batch& batch, Address address) {
  const Mapping* m = batch.model.mapping_at(address);
  const Allocation* a = m ? batch.model.allocation(m->handle) : nullptr;
  const int device = batch.facts.place.device;
  return a && a->prop_known && device >= 0 &&
         static_cast<int>(a->prop.location.type) == kLocationDevice &&
         a->prop.location.id != device && !batch.model.multicast(m->handle);
}

void check_local(const Batch& batch, const std::string& where,
                 const CUDA_FABRIC_COPY_BATCH_OP& op) {
  const bool src = is_pointer(op.src) && remote(batch, op.src.op.ptr.ptr);
  const bool dst = is_pointer(op.dst) && remote(batch, op.dst.op.ptr.ptr);
  const bool plain = is_pointer(op.src) && is_pointer(op.dst);
  if (plain ? !(src && dst) : !(src || dst)) return;
  batch.out.add(Rule::kFcLocal, where +
                                    (plain ? "both sides are memory of other devices than "
                                           : "the pointer is memory of another device than ") +
                                    std::to_string(batch.facts.place.device) +
                                    ", whose stream it is");
}

// The bytes that one copy of the batch reads or writes.
struct Range {
  bool endpoint = false;
  std::uint32_t id = 0;
  Address base = 0;
  Size size = 0;
  bool write = false;
  std::size_t copy = 0;
};

void check_independent(const Batch& batch, const CUDA_FABRIC_COPY_BATCH_OP* ops,
                       std::size_t count) {
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < count; ++i) {
    if (ops[i].size == 0) continue;
    for (const bool write : {false, true}) {
      const CUfabricCpyOperand& operand = write ? ops[i].dst : ops[i].src;
      const bool endpoint = is_endpoint(operand);
      ranges.push_back({endpoint, endpoint ? operand.op.le.id : 0,
                        endpoint ? operand.op.le.offset : operand.op.ptr.ptr, ops[i].size, write,
                        i});
    }
  }
  std::ranges::sort(ranges, [](const Range& a, const Range& b) {
    return std::tuple(a.endpoint, a.id, a.base) < std::tuple(b.endpoint, b.id, b.base);
  });
  // The ranges that reach farthest so far: of all ranges, and of those that are written.
  const Range* farthest = nullptr;
  const Range* farthest_write = nullptr;
  const auto same_place = [](const Range* a, const Range& b) {
    return a && a->endpoint == b.endpoint && a->id == b.id;
  };
  for (const Range& r : ranges) {
    const Range* other = r.write ? farthest : farthest_write;
    if (same_place(other, r) && other->copy != r.copy && r.base - other->base < other->size) {
      const auto [first, second] = std::minmax(r.copy, other->copy);
      batch.out.add(Rule::kFcIndependent, "copies " + std::to_string(first) + " and " +
                                              std::to_string(second) +
                                              " touch the same bytes, and one of them writes");
      return;
    }
    const auto farther = [&](const Range* than) {
      return !same_place(than, r) || r.base - than->base >= than->size ||
             r.size > than->size - (r.base - than->base);
    };
    if (farther(farthest)) farthest = &r;
    if (r.write && farther(farthest_write)) farthest_write = &r;
  }
}

Violations check_batch(const Model& model, const CUDA_FABRIC_COPY_BATCH_OP* ops, std::size_t count,
                       unsigned long long flags, CUstream stream, EntryPoint entry,
                       const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  if (facts.place.context == Facts::Answer::kNo) {
    return check_touches(model, entry, nullptr, 0, facts);
  }
  const Batch batch{model, facts, out};
  if (model.platform().endpoints.none()) {
    out.add(Rule::kFcSupported, "no device of this machine supports logical endpoints");
  }
  if (flags != 0) out.add(Rule::kFcFlagsZero, "flags is " + hex_text(flags) + ", not 0");
  if (is_legacy_stream(stream, facts.place.per_thread)) {
    out.add(Rule::kFcStream, "hStream is the legacy NULL stream");
  }
  if (!ops) {
    if (count != 0) out.add(Rule::kFcListNonnull, "opList is NULL");
    return out.take();
  }
  Violations found = out.take();
  bool sound = true;
  for (std::size_t i = 0; i < count && found.size() < kMostFound; ++i) {
    const CUDA_FABRIC_COPY_BATCH_OP& op = ops[i];
    const std::string where = "copy " + std::to_string(i) + ": ";
    const bool src = check_side(batch, where + "src: ", op.src);
    const bool dst = check_side(batch, where + "dst: ", op.dst);
    if (op.flags != 0) {
      out.add(Rule::kFcOpFlagsZero, where + "flags is " + hex_text(op.flags) + ", not 0");
    }
    if (is_endpoint(op.src) && is_endpoint(op.dst)) {
      out.add(Rule::kFcOneEndpoint, where + "both sides are logical endpoints");
    } else if (src && dst) {
      if (is_endpoint(op.src)) check_endpoint_side(batch, where + "src: ", op.src, op.size, true);
      if (is_endpoint(op.dst)) check_endpoint_side(batch, where + "dst: ", op.dst, op.size, false);
      if (is_pointer(op.src) || is_pointer(op.dst)) check_local(batch, where, op);
    }
    sound = sound && out.empty();
    found.append(out.take());
    // The documentation says that the stream's device reaches each side, so the CPU makes no copy.
    Touch touched[2];
    std::size_t touches = 0;
    if (is_pointer(op.dst) && op.size != 0) {
      touched[touches++] = {.base = op.dst.op.ptr.ptr,
                            .width = op.size,
                            .write = true,
                            .on_gpu = true,
                            .parameter = "dst"};
    }
    if (is_pointer(op.src) && op.size != 0) {
      touched[touches++] = {
          .base = op.src.op.ptr.ptr, .width = op.size, .on_gpu = true, .parameter = "src"};
    }
    Violations data = check_touches(model, entry, touched, touches, facts);
    for (Violation& v : data) v.message = where + v.message;
    found.append(data);
  }
  if (sound) check_independent(batch, ops, count);
  found.append(out.take());
  return found;
}

}  // namespace

Violations check(const Model& model, const calls::FabricCpyBatchAsync& call, const Facts& facts) {
  return check_batch(model, call.opList, call.numOps, call.flags, call.hStream, call.kEntryPoint,
                     facts);
}

}  // namespace cuvmm
