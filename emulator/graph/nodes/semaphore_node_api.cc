// SPDX-License-Identifier: Apache-2.0
// The calls about nodes that signal external semaphores or wait for them.
#include "emulator/core/export.h"
#include "emulator/graph/graph_nodes.h"
#include "emulator/graph/node_params.h"

namespace cuvmm::emulator {

namespace {

using Signal = CUDA_EXT_SEM_SIGNAL_NODE_PARAMS;
using Wait = CUDA_EXT_SEM_WAIT_NODE_PARAMS;

template <class Node, class Asked>
void copy_semaphores(Node& node, const Asked& asked) {
  node = {};
  node.extSemArray = asked.extSemArray;
  node.paramsArray = asked.paramsArray;
  node.numExtSems = asked.numExtSems;
}
CUgraphNodeParams params_of(const Signal& signal) {
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL;
  copy_semaphores(params.extSemSignal, signal);
  return params;
}
CUgraphNodeParams params_of(const Wait& wait) {
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT;
  copy_semaphores(params.extSemWait, wait);
  return params;
}

// The arrays are the node's own. A node of no semaphores has none (an H200).
template <class Kept, class Asked>
CUresult tell(CUgraphNode handle, Asked* out) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    GraphNode* const node = e.graphs.find(handle);
    Kept* const kept = node ? std::get_if<Kept>(&node->params) : nullptr;
    if (!kept || !out) return CUDA_ERROR_INVALID_VALUE;
    if (!kept->semaphores.empty()) {
      out->extSemArray = kept->semaphores.data();
      out->paramsArray = kept->params.data();
    }
    out->numExtSems = static_cast<unsigned>(kept->semaphores.size());
    return CUDA_SUCCESS;
  });
}

template <class Asked>
CUresult add(CUgraphNode* out, CUgraph graph, const CUgraphNode* on, size_t count,
             const Asked* asked) noexcept {
  if (!asked) return no_params();
  CUgraphNodeParams params = params_of(*asked);
  return add_node(out, graph, on, nullptr, count, &params);
}

template <class Asked, class... Node>
CUresult set(const Asked* asked, Node... node) noexcept {
  if (!asked) return no_params();
  CUgraphNodeParams params = params_of(*asked);
  return set_params(node..., &params);
}

}  // namespace

CUVMM_DRIVER_FUNCTION(cuGraphAddExternalSemaphoresSignalNode, CUgraphNode* out, CUgraph graph,
                      const CUgraphNode* on, size_t count, const Signal* signal) {
  return add(out, graph, on, count, signal);
}
CUVMM_DRIVER_FUNCTION(cuGraphAddExternalSemaphoresWaitNode, CUgraphNode* out, CUgraph graph,
                      const CUgraphNode* on, size_t count, const Wait* wait) {
  return add(out, graph, on, count, wait);
}
CUVMM_DRIVER_FUNCTION(cuGraphExternalSemaphoresSignalNodeGetParams, CUgraphNode node, Signal* out) {
  return tell<SignalParams>(node, out);
}
CUVMM_DRIVER_FUNCTION(cuGraphExternalSemaphoresWaitNodeGetParams, CUgraphNode node, Wait* out) {
  return tell<WaitParams>(node, out);
}
CUVMM_DRIVER_FUNCTION(cuGraphExternalSemaphoresSignalNodeSetParams, CUgraphNode node,
                      const Signal* signal) {
  return set(signal, node);
}
CUVMM_DRIVER_FUNCTION(cuGraphExternalSemaphoresWaitNodeSetParams, CUgraphNode node,
                      const Wait* wait) {
  return set(wait, node);
}
CUVMM_DRIVER_FUNCTION(cuGraphExecExternalSemaphoresSignalNodeSetParams, CUgraphExec executable,
                      CUgraphNode node, const Signal* signal) {
  return set(signal, executable, node);
}
CUVMM_DRIVER_FUNCTION(cuGraphExecExternalSemaphoresWaitNodeSetParams, CUgraphExec executable,
                      CUgraphNode node, const Wait* wait) {
  return set(wait, executable, node);
}

}  // namespace cuvmm::emulator
