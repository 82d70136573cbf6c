// SPDX-License-Identifier: Apache-2.0
// cuMemCreate, cuMemRelease, properties, retain and granularity.
#include "rulebook/check/check_prop.h"
#include "rulebook/sharing/check_multicast.h"

namespace cuvmm {
using namespace detail;

Violations check(const Model& model, const calls::MemCreate& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  if (!call.handle) out.add(Rule::kCreateHandleNonnull, "handle is NULL");
  if (call.flags != 0)
    out.add(Rule::kCreateFlagsZero, "flags is " + hex_text(call.flags) + ", not 0");
  if (!call.prop) {
    out.add(Rule::kCreatePropNonnull, "prop is NULL");
    return out.take();
  }
  check_prop(model, *call.prop, [&](Rule rule, const std::string& message, bool certain) {
    out.add(rule, message, certain);
  });
  if (call.size == 0) {
    out.add(Rule::kCreateSizeNonzero, "size is 0");
  } else if (facts.unicast.granularity != 0 && call.size % facts.unicast.granularity != 0) {
    out.add(Rule::kCreateSizeGranularity,
            "size " + size_text(call.size) +
                " is not a multiple of the granularity for these properties, " +
                size_text(facts.unicast.granularity));
  }
  if (call.size > facts.unicast.free_memory) {
    out.add(Rule::kCreateFits, size_text(call.size) +
                                   " do not fit: " + size_text(facts.unicast.free_memory) +
                                   " are free on " + location(call.prop->location));
  }
  return out.take();
}

Violations check(const Model& model, const calls::MemRelease& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  const Allocation* a = check_handle(out, model, call.handle,
                                     {Rule::kReleaseHandleNonzero, Rule::kReleaseHandleValid,
                                      Rule::kReleasePairing, Rule::kReleasePairing},
                                     facts);
  if (a && a->references == 1 && a->mappings == 0) check_unbound(out, model, *a);
  return out.take();
}

Violations check(const Model& model, const calls::MemGetAllocationPropertiesFromHandle& call,
                 const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  if (!call.prop) out.add(Rule::kPropertiesPropNonnull, "prop is NULL");
  check_handle(out, model, call.handle,
               {Rule::kPropertiesHandleNonzero, Rule::kPropertiesHandleValid,
                Rule::kPropertiesHandleAlive, Rule::kPropertiesHandleReferenced},
               facts);
  return out.take();
}

Violations check(const Model& model, const calls::MemRetainAllocationHandle& call,
                 const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  if (!call.handle) out.add(Rule::kRetainHandleNonnull, "handle is NULL");
  const auto addr = reinterpret_cast<Address>(call.addr);
  if (!model.mapping_at(addr)) {
    const bool reserved = model.reservation_at(addr) != nullptr;
    Violation& v = out.add(Rule::kRetainAddrMapped,
                           hex_text(addr) + (reserved ? " is reserved, but nothing is mapped there"
                                                      : " is in no live mapping"),
                           reserved || certainly_not_reserved(model, addr));
    attach_history(v, model, addr);
  }
  return out.take();
}

Violations check(const Model& model, const calls::MemGetAllocationGranularity& call,
                 const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  if (!call.granularity) out.add(Rule::kGranularityOutNonnull, "granularity is NULL");
  const auto option = static_cast<unsigned>(call.option);
  if (option > 1)
    out.add(Rule::kGranularityOption, "option is " + std::to_string(option) + ", not 0 or 1");
  if (!call.prop) {
    out.add(Rule::kGranularityPropNonnull, "prop is NULL");
    return out.take();
  }
  // One finding for any number of wrong fields, and only for certain mistakes.
  std::string problems;
  check_prop(model, *call.prop, [&](Rule rule, const std::string& message, bool certain) {
    if (!certain || info(rule).kind == RuleKind::kAdvice) return;
    // A lack of the machine, such as a missing IMEX channel, is no mistake in the properties.
    if (rule == Rule::kCreateFabricChannel || rule == Rule::kCreateLocalizedRdma) return;
    problems += (problems.empty() ? "" : "; ") + message;
  });
  if (!problems.empty()) out.add(Rule::kGranularityPropValid, problems);
  return out.take();
}

}  // namespace cuvmm
