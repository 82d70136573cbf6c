// SPDX-License-Identifier: Apache-2.0
// Policies of arrays: a new array belongs to the current context; for a sparse array the policy
// asks the driver at once how large its tiles are.
#pragma once

#include "shim/policy/ipc_policy.h"
#include "shim/policy/policy.h"

namespace cuvmm::shim {

template <class CallStruct>
struct MakesArray : AsksContext<CallStruct> {
  struct CallState {
    CUDA_ARRAY_SPARSE_PROPERTIES tiles{};
  };
  static void made(PolicyResources& resources, const CallStruct& call, Step<CallStruct>& step) {
    if (resources.driver.find_tiles(call, step.state.tiles)) {
      step.facts.write().array.sparse = &step.state.tiles;
    }
  }
};

template <>
struct Policy<calls::ArrayCreate> : AsksContext<calls::ArrayCreate> {};
template <>
struct Policy<calls::Array3DCreate> : MakesArray<calls::Array3DCreate> {};
template <>
struct Policy<calls::MipmappedArrayCreate> : MakesArray<calls::MipmappedArrayCreate> {};
template <>
struct Policy<calls::ExternalMemoryGetMappedMipmappedArray>
    : AsksContext<calls::ExternalMemoryGetMappedMipmappedArray> {};

}  // namespace cuvmm::shim
