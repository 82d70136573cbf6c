// SPDX-License-Identifier: Apache-2.0
// Queries of kernel nodes, and their attributes.
#include <algorithm>
#include <memory>
#include <utility>

#include "emulator/code/kernel_params.h"
#include "emulator/core/export.h"
#include "emulator/core/locked.h"
#include "emulator/graph/graph_nodes.h"

namespace cuvmm::emulator {

namespace {

template <class Body>
CUresult on_kernel(CUgraphNode handle, Body&& body) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    GraphNode* const node = e.graphs.find(handle);
    const auto* kernel =
        node ? std::get_if<std::shared_ptr<const KernelParams>>(&node->params) : nullptr;
    return kernel ? body(e, *node, **kernel) : CUDA_ERROR_INVALID_VALUE;
  });
}

template <class Kernel>
CUresult tell(CUgraphNode handle, Kernel* out) noexcept {
  return on_kernel(handle, [&](Emulator&, GraphNode&, const KernelParams& kernel) -> CUresult {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    *out = older_form<Kernel>(kernel.params());
    return CUDA_SUCCESS;
  });
}

// Gives the node these attributes. A cluster's size, and whether all blocks run at a time, are
// properties of its work; a kernel that was unloaded, or is not known, has no work.
template <class Attributes>
CUresult replace(Emulator& e, GraphNode& node, Attributes attributes) {
  const auto before = std::exchange(node.attributes, std::move(attributes));
  const CUresult result = make_kernel_again(e, node);
  if (result != CUDA_ERROR_INVALID_CLUSTER_SIZE &&
      result != CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE)
    return CUDA_SUCCESS;
  node.attributes = before;
  return result;
}

// Whether a kernel node has this attribute of launches.
bool of_a_node(int attribute) {
  constexpr int kThose[] = {CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
                            CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
                            CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                            CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
                            CU_LAUNCH_ATTRIBUTE_PRIORITY,
                            CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP,
                            CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN};
  return std::find(std::begin(kThose), std::end(kThose), attribute) != std::end(kThose);
}

}  // namespace

CUVMM_DRIVER_FUNCTION(cuGraphKernelNodeGetParams, CUgraphNode node,
                      CUDA_KERNEL_NODE_PARAMS_v1* out) {
  return tell(node, out);
}
CUVMM_DRIVER_FUNCTION(cuGraphKernelNodeGetParams_v2, CUgraphNode node,
                      CUDA_KERNEL_NODE_PARAMS_v2* out) {
  return tell(node, out);
}

// An attribute that was never set is zero.
CUVMM_DRIVER_FUNCTION(cuGraphKernelNodeGetAttribute, CUgraphNode handle, CUkernelNodeAttrID which,
                      CUkernelNodeAttrValue* out) {
  return on_kernel(handle, [&](Emulator&, GraphNode& node, const KernelParams&) -> CUresult {
    if (!out || !of_a_node(which)) return CUDA_ERROR_INVALID_VALUE;
    const auto found = node.attributes.find(which);
    *out = found == node.attributes.end() ? CUkernelNodeAttrValue{} : found->second;
    return CUDA_SUCCESS;
  });
}
CUVMM_DRIVER_FUNCTION(cuGraphKernelNodeSetAttribute, CUgraphNode handle, CUkernelNodeAttrID which,
                      const CUkernelNodeAttrValue* value) {
  return on_kernel(handle, [&](Emulator& e, GraphNode& node, const KernelParams&) -> CUresult {
    if (!value || !of_a_node(which)) return CUDA_ERROR_INVALID_VALUE;
    auto attributes = node.attributes;
    attributes[which] = *value;
    return replace(e, node, std::move(attributes));
  });
}
CUVMM_DRIVER_FUNCTION(cuGraphKernelNodeCopyAttributes, CUgraphNode to, CUgraphNode from) {
  return on_kernel(to, [&](Emulator& e, GraphNode& node, const KernelParams& kernel) -> CUresult {
    const GraphNode* const other = e.graphs.find(from);
    const auto* theirs =
        other ? std::get_if<std::shared_ptr<const KernelParams>>(&other->params) : nullptr;
    if (!theirs || &(*theirs)->context() != &kernel.context()) return CUDA_ERROR_INVALID_VALUE;
    return replace(e, node, decltype(node.attributes)(other->attributes));
  });
}

}  // namespace cuvmm::emulator
