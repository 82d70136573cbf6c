// SPDX-License-Identifier: Apache-2.0
// Arguments of functions without checks of their own, by which a driver dies.
#pragma once

#include <cstddef>

#include "rulebook/memory/check_ended.h"
#include "shim/intercept/added_node.h"

namespace cuvmm::shim {

/// The violation of a call by which a driver dies, seen in the arguments alone.
template <class... Args>
Violations deadly_arguments(Args...) {
  return {};
}

// A graph that the call adds to itself as a child.
inline Violations deadly_child(CUgraph graph, CUgraph child) {
  return graph == child && graph ? check_own_child(handle_of(graph)) : Violations{};
}
inline Violations deadly_arguments(CUgraphNode*, CUgraph graph, const CUgraphNode*, std::size_t,
                                   CUgraph child) {
  return deadly_child(graph, child);
}
inline Violations deadly_arguments(CUgraphNode*, CUgraph graph, const CUgraphNode*, std::size_t,
                                   NodeParams params) {
  return deadly_child(graph, child_of(params));
}
inline Violations deadly_arguments(CUgraphNode*, CUgraph graph, const CUgraphNode*, const void*,
                                   std::size_t, NodeParams params) {
  return deadly_child(graph, child_of(params));
}

// A description of no resources.
inline Violations deadly_arguments(CUdevResourceDesc* out, CUdevResource* resources,
                                   unsigned count) {
  return out && resources && count == 0 ? check_no_resources() : Violations{};
}

}  // namespace cuvmm::shim
