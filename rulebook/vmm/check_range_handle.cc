// SPDX-License-Identifier: Apache-2.0
// cuMemGetHandleForAddressRange.
#include <cstring>
#include <optional>

#include "rulebook/check/check_prop.h"
#include "rulebook/check/check_support.h"
#include "rulebook/vmm/left_dma_buf.h"

namespace cuvmm {
using namespace detail;

namespace {

// Two domains of a device may count as one device: the documentation does not say.
bool same_device(const CUmemLocation& a, const CUmemLocation& b) {
  return same_place(a, b) || (is_device(a) && is_device(b) && device_of(a) == device_of(b));
}

// The documentation is plain about pools. For memory of cuMemCreate it only says that this flag
// chooses the way over PCIe.
void check_localized(Collector& out, const Model& model,
                     const calls::MemGetHandleForAddressRange& call) {
  if (call.flags & kRangePcie) return;
  const std::string behind = "the memory behind " + range(call.dptr, call.size) + " lies in ";
  if (const PoolMemory* memory = model.pools().memory_at(call.dptr)) {
    if (!unreachable_by_rdma(memory->location, model.platform())) return;
    out.add(Rule::kRangeLocalized, behind + location(memory->location), memory->rdma)
        .objects.push_back(ref(*memory));
    return;
  }
  const Mapping* mapping = model.mapping_at(call.dptr);
  const Allocation* a = mapping ? model.allocation(mapping->handle) : nullptr;
  if (!a || !a->prop_known || !unreachable_by_rdma(a->prop.location, model.platform())) return;
  out.add(Rule::kRangeLocalized, behind + location(a->prop.location), false)
      .objects.push_back(ref(*a));
}

}  // namespace

Violations check(const Model& model, const calls::MemGetHandleForAddressRange& call,
                 const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  if (!call.handle) out.add(Rule::kRangeOutNonnull, "handle is NULL");
  if (static_cast<unsigned>(call.handleType) != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD) {
    out.add(Rule::kRangeType, "handleType is " +
                                  std::to_string(static_cast<unsigned>(call.handleType)) +
                                  ", not DMA_BUF_FD (1)");
  }
  if (call.flags > 1)
    out.add(Rule::kRangeFlags, "flags is " + hex_text(call.flags) + ", not 0 or 1");
  const Size page = model.platform().host_page;
  if (call.size == 0 || call.dptr % page != 0 || call.size % page != 0) {
    out.add(Rule::kRangeAligned, "address " + hex_text(call.dptr) + " and size " +
                                     std::to_string(call.size) + " are not whole host pages of " +
                                     size_text(page));
    return out.take();
  }
  check_localized(out, model, call);
  // A range outside of every reservation is no VMM memory: memory of cuMemAlloc and of the host is
  // legal here.
  if (!model.reservation_at(call.dptr) && !model.mapping_at(call.dptr)) return out.take();
  const Coverage c = coverage(model, call.dptr, call.size);
  if (c.has_hole) {
    attach_history(out.add(Rule::kRangeMapped, "nothing is mapped at " + hex_text(c.hole) + " in " +
                                                   range(call.dptr, call.size)),
                   model, c.hole);
  }
  const Allocation *first = nullptr, *host = nullptr, *compressed = nullptr;
  bool mixed = false;
  for (auto it = model.first_mapping_after(call.dptr);
       it != model.mappings().end() &&
       overlap(it->second.base, it->second.size, call.dptr, call.size);
       ++it) {
    const Allocation* a = model.allocation(it->second.handle);
    if (!a || !a->prop_known) return out.take();
    if (!first) first = a;
    const auto& p = first->prop;
    const auto& q = a->prop;
    if (!host && !is_device(q.location)) host = a;
    if (!compressed && q.allocFlags.compressionType) compressed = a;
    // An import does not tell the handle types of its creation.
    const bool types =
        first->imported || a->imported || p.requestedHandleTypes == q.requestedHandleTypes;
    const bool same = types && same_device(p.location, q.location) &&
                      p.allocFlags.gpuDirectRDMACapable == q.allocFlags.gpuDirectRDMACapable &&
                      p.allocFlags.compressionType == q.allocFlags.compressionType;
    if (same || mixed) continue;
    mixed = true;
    Violation& v = out.add(Rule::kRangeOneDevice,
                           "the memory behind " + range(call.dptr, call.size) + " lies on " +
                               location(p.location) + " and on " + location(q.location) +
                               ", or was created with different properties");
    v.objects.push_back(ref(*first));
    v.objects.push_back(ref(*a));
  }
  if (call.flags != 0) return out.take();  // the driver first checks for a PCIe mapping
  const std::string behind = "the memory behind " + range(call.dptr, call.size);
  if (host) {
    out.add(Rule::kRangeHost, behind + " lies on " + location(host->prop.location), false)
        .objects.push_back(ref(*host));
  }
  if (compressed) {
    out.add(Rule::kRangeCompressed, behind + " was created with compression", false)
        .objects.push_back(ref(*compressed));
  }
  return out.take();
}

Origin memory_behind(const Model& model, Address base) {
  if (const PlainMemory* const plain = model.memory().at(base)) return plain->made;
  if (const PoolMemory* const pool = model.pools().memory_at(base)) return pool->made;
  return {};
}

Violations check_left(const Model& model, const DmaBuf& open) {
  const std::uint64_t memory = open.memory.call;
  const std::uint64_t now = memory_behind(model, open.base).call;
  if (memory == 0 || now == memory) return {};
  std::optional<ObjectRef> ended;
  for (const auto kind : {ObjectRef::Kind::kMemory, ObjectRef::Kind::kPoolMemory}) {
    const auto ended_object = model.tombstones().find_covering(kind, open.base);
    if (ended_object && ended_object->made.call >= memory) ended = ended_object;
  }
  // Memory that ended with a context is unknown and may be still there. But a driver reuses an
  // address only after its memory has ended, so newer memory proves the end.
  if (!ended && now < memory) return {};
  const bool known = ended && ended->made.call == memory;
  Collector out;
  Violation& v = out.add(Rule::kRangeFdLeak,
                         "descriptor " + std::to_string(open.fd) + ", a dma-buf of memory at " +
                             hex_text(open.base) + ", is still open, and that memory was freed" +
                             (known ? " by call " + std::to_string(ended->ended.call) : ""));
  v.objects.push_back(
      {ObjectRef::Kind::kExport, static_cast<std::uint64_t>(open.fd), open.size, open.made, {}});
  if (known) v.objects.push_back(*ended);
  return out.take();
}

}  // namespace cuvmm
