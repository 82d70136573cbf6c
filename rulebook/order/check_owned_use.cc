// SPDX-License-Identifier: Apache-2.0
#include "rulebook/order/check_owned_use.h"

#include <initializer_list>
#include <string>

#include "rulebook/check/check_support.h"
#include "rulebook/order/check_work.h"

namespace cuvmm {

using namespace detail;

namespace {

using Kind = ObjectRef::Kind;

bool any_memory(const Model& model, Address address) {
  return model.mapping_at(address) || memory_at(model, address);
}

// Kernels may go on to use host memory that was registered, because it outlives its registration.
std::optional<ObjectRef> living_owner(const Model& model, Address address, bool copy) {
  if (const Mapping* const mapping = model.mapping_at(address)) return ref(*mapping);
  if (const PoolMemory* const pool = model.pools().memory_at(address)) return ref(*pool);
  const PlainMemory* const plain = model.memory().at(address);
  if (!plain || (plain->kind == PlainMemory::Kind::kRegistered && !copy)) return std::nullopt;
  return ref(*plain);
}

// The memory that lived when the node was captured, and ended before the graph was instantiated.
std::optional<ObjectRef> owner_at_capture(const Model& model, Address address,
                                          const Origin& captured) {
  if (captured.call == 0 || any_memory(model, address)) return std::nullopt;
  for (const Kind kind : {Kind::kMapping, Kind::kPoolMemory, Kind::kMemory}) {
    const auto ended = model.tombstones().find_covering(kind, address);
    const bool lived = ended && ended->made.call != 0 && ended->made.call < captured.call &&
                       captured.call < ended->ended.call;
    if (lived) return ended;
  }
  return std::nullopt;
}

// Memory of the host that had ended before the program added a copy of it: what a capture adds is
// checked by the captured call.
std::optional<ObjectRef> owner_before(const Model& model, const GraphOrder::Use& use,
                                      const Origin& captured) {
  if (!use.of_host || captured.call != 0 || any_memory(model, use.range.base)) return std::nullopt;
  return model.tombstones().find_covering(Kind::kMemory, use.range.base);
}

bool of_kind(const Model& model, Address address, PlainMemory::Kind kind) {
  const PlainMemory* const memory = model.memory().at(address);
  return memory && memory->kind == kind;
}

// Whether the address of a kernel may mean other memory than its owner's: the end of the memory in
// front of it, or an element before the memory behind it.
bool may_mean_others(const Model& model, Address address, const ObjectRef& owner) {
  constexpr Size kJustBefore = 4096;
  const Size left = owner.size - (address - owner.value);
  if (address == owner.value && any_memory(model, address - 1)) return true;
  return left <= kJustBefore && any_memory(model, owner.value + owner.size);
}

}  // namespace

std::optional<OwnedUse> owned_use(const Model& model, const GraphOrder::Use& use,
                                  const Origin& captured) {
  const Address address = use.range.base;
  auto owner = living_owner(model, address, use.range.size != 0);
  const bool lives = owner.has_value();
  if (!owner) owner = owner_at_capture(model, address, captured);
  if (!owner) owner = owner_before(model, use, captured);
  if (!owner || owner->made.call == 0) {
    if (!use.of_host) return std::nullopt;
    const ObjectRef host{Kind::kMemory, address, use.range.size, {}, {}};
    return OwnedUse{nullptr, use, host, captured};
  }
  if (use.range.size == 0 && may_mean_others(model, address, *owner)) return std::nullopt;
  const bool registered = lives && of_kind(model, address, PlainMemory::Kind::kRegistered);
  const bool host = lives && of_kind(model, address, PlainMemory::Kind::kHost);
  // What a capture took as memory of the host, and a call had made, was page-locked.
  const bool captured_so = !lives && use.of_host && captured.call != 0;
  return OwnedUse{nullptr, use, *owner, captured, registered || host || captured_so, registered};
}

std::optional<OwnedUse> ended_use(const Model& model, const OwnedUse& one) {
  const Address address = one.use.range.base;
  if (one.owner.made.call == 0) return std::nullopt;
  // The GPU knows page-locked memory by its registration, so a new one at the address is another.
  const PlainMemory* const now = one.page_locked ? model.memory().at(address) : nullptr;
  const bool another = now && now->made.call != one.owner.made.call;
  if (!another && any_memory(model, address)) return std::nullopt;
  const auto ended = model.tombstones().find_covering(one.owner.kind, address);
  if (!ended || ended->made.call != one.owner.made.call) return std::nullopt;
  OwnedUse found = one;
  found.owner = *ended;
  return found;
}

Violation launch_of_ended(std::span<const OwnedUse> ended) {
  const OwnedUse& first = ended.front();
  Collector out;
  const bool unreadable = first.owner.ended.call == 0 && first.use.of_host;
  const bool known = first.owner.made.call != 0;
  const char* what = unreadable && known ? "registered memory that the host cannot read, "
                     : unreadable        ? "memory of the host that the host cannot read, "
                     : first.registered  ? "memory that is not registered any more, "
                                         : "memory that has ended, ";
  std::string text = use_text(first.use) + " in the graph uses " + what +
                     range(first.owner.value, first.owner.size);
  if (first.owner.ended.call != 0) {
    text += ": call " + std::to_string(first.owner.ended.call) + " ended it before this launch";
  }
  if (ended.size() > 1) text += "; " + std::to_string(ended.size() - 1) + " more likewise";
  Violation& v = out.add(Rule::kLaunchAlive, text);
  if (known) v.objects.push_back(first.owner);
  if (first.captured.call != 0) {
    v.objects.push_back({.kind = Kind::kUsingNode,
                         .value = first.use.range.base,
                         .size = first.use.range.size,
                         .made = first.captured,
                         .ended = {}});
  }
  v.fix = first.registered ? "Unregister the memory" : "End the memory";
  v.fix +=
      " behind the last launch of the graph. Or give the node other memory before "
      "the launch: capture the work again with the new address and call cuGraphExecUpdate, or set "
      "the node's parameters in the executable graph (cuGraphExecMemsetNodeSetParams, "
      "cuGraphExecMemcpyNodeSetParams, cuGraphExecKernelNodeSetParams).";
  Violations all = out.take();
  return all.front();
}

}  // namespace cuvmm
