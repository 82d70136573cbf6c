// SPDX-License-Identifier: Apache-2.0
// Whether an executable graph can take over a graph's parameters.
#pragma once

#include <cuda.h>

namespace cuvmm::emulator {

/// The result of an update; its nodes are those of the graph with the new parameters.
struct UpdateResult {
  CUgraphExecUpdateResult why = CU_GRAPH_EXEC_UPDATE_SUCCESS;
  CUgraphNode node = nullptr;
  CUgraphNode from = nullptr;  ///< the other end of an edge that does not match

  bool good() const { return why == CU_GRAPH_EXEC_UPDATE_SUCCESS; }
};

}  // namespace cuvmm::emulator
