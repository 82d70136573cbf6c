// SPDX-License-Identifier: Apache-2.0
#include "rulebook/kernel/check_kernel.h"

#include <iterator>
#include <optional>

#include "rulebook/order/check_work.h"

namespace cuvmm {
using namespace detail;

namespace {

using Kind = ObjectRef::Kind;

// In the order of KernelReport::Kind.
constexpr Rule kRules[] = {
    Rule::kKernelBounds,         Rule::kKernelBounds,       Rule::kKernelAccess,
    Rule::kKernelAligned,        Rule::kKernelSpace,        Rule::kKernelInitialized,
    Rule::kKernelSharedRace,     Rule::kKernelGlobalRace,   Rule::kKernelBarrierReached,
    Rule::kKernelBarrierAligned, Rule::kKernelBarrierCount, Rule::kKernelMask};
static_assert(std::size(kRules) == static_cast<std::size_t>(KernelReport::Kind::kMask) + 1);

// The living object of memory that holds an address.
std::optional<ObjectRef> owner_of(const Model& model, Address address) {
  if (const Mapping* const m = model.mapping_at(address)) return ref(*m);
  if (const auto* const pooled = model.pools().memory_at(address)) return ref(*pooled);
  if (const auto* const plain = model.memory().at(address)) return ref(*plain);
  return std::nullopt;
}

// "byte 16 of the memory [0x10, 0x20)"
std::string inside_text(const ObjectRef& owner, Address address) {
  return ". It is byte " + std::to_string(address - owner.value) + " of the " + name(owner.kind) +
         " " + range(owner.value, owner.size);
}

// The memory that ends closest before an address, within the distance of a slip of the index.
std::optional<ObjectRef> just_before(const Model& model, Address address) {
  constexpr Size kFarthest = Size{1} << 20;
  for (Size distance = 1; distance <= kFarthest && distance <= address; distance *= 2) {
    if (auto owner = owner_of(model, address - distance)) return owner;
  }
  return std::nullopt;
}

void explain_outside(const Model& model, Address address, Violation& out) {
  if (const auto ended = last_owner(model, address)) {
    out.message += "; " + end_text(*ended);
    out.objects.push_back(*ended);
  } else if (const Reservation* const r = model.reservation_at(address)) {
    out.message += ". It lies in a hole of the reservation " + range(r->base, r->size);
    out.objects.push_back(ref(*r));
  }
  if (!out.objects.empty()) return;
  if (const auto before = just_before(model, address)) {
    const Size distance = address - before->value - before->size;
    out.message += (distance == 0 ? ". It is the end of the "
                                  : ". It lies " + std::to_string(distance) +
                                        " bytes behind the end of the ") +
                   std::string(name(before->kind)) + " " + range(before->value, before->size);
    out.objects.push_back(*before);
  }
}

}  // namespace

Violation kernel_violation(const Model& model, const KernelReport& report) {
  const auto kind = static_cast<std::size_t>(report.kind);
  Violation out;
  out.rule = kRules[kind < std::size(kRules) ? kind : 0];
  out.message = report.text;
  if (report.address == 0) return out;
  if (const auto owner = owner_of(model, report.address)) {
    out.message += inside_text(*owner, report.address);
    out.objects.push_back(*owner);
  } else if (report.kind == KernelReport::Kind::kOutside) {
    explain_outside(model, report.address, out);
  }
  return out;
}

}  // namespace cuvmm
