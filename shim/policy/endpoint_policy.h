// SPDX-License-Identifier: Apache-2.0
// Policies of logical endpoints and fabric copies.
#pragma once

#include "shim/policy/policy.h"

namespace cuvmm::shim {

template <>
struct Policy<calls::LogicalEndpointCreate> {
  using Call = calls::LogicalEndpointCreate;
  static void ask(PolicyResources& resources, const Call& call, Step<Call>& step) {
    if (call.prop) resources.driver.find_endpoint_limits(*call.prop, step.facts.write().endpoint);
  }
};

template <>
struct Policy<calls::FabricCpyBatchAsync> {
  using Call = calls::FabricCpyBatchAsync;
  static void ask(PolicyResources& resources, const Call& call, Step<Call>& step) {
    resources.driver.find_device(call.hStream, false, step.facts.write().place);
  }
};

}  // namespace cuvmm::shim
