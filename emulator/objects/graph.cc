// SPDX-License-Identifier: Apache-2.0
#include "emulator/objects/graph.h"

#include <algorithm>

namespace cuvmm::emulator {

bool Graph::has_memory_nodes() const {
  return of_memory || std::any_of(nodes.begin(), nodes.end(), [](const auto& node) {
           return node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
                  node->type == CU_GRAPH_NODE_TYPE_MEM_FREE;
         });
}

}  // namespace cuvmm::emulator
