// SPDX-License-Identifier: Apache-2.0
// The facts about a call's arguments that a specification of failures may use.
#pragma once

#include <type_traits>

#include "api/calls.h"
#include "injected_failures/spec.h"

namespace cuvmm::shim {

template <class CallStruct>
injected_failures::CallFacts call_facts(const CallStruct& call) {
  injected_failures::CallFacts facts;
  call.visit([&](ParameterKind kind, const char*, const auto& value) {
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_integral_v<Value>) {
      if (kind == ParameterKind::kSize && facts.size == injected_failures::kNoLimit)
        facts.size = value;
      if (kind == ParameterKind::kDevice) facts.device = static_cast<int>(value);
    } else if constexpr (std::is_same_v<Value, const CUmemAllocationProp*>) {
      if (value && value->location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
        facts.device = value->location.id;
      }
    }
  });
  return facts;
}

}  // namespace cuvmm::shim
