// SPDX-License-Identifier: Apache-2.0
// The answers about nodes that no capture makes follow the documentation; none was measured.
#include "emulator/graph/graph_nodes.h"

#include <algorithm>
#include <utility>

#include "emulator/base/refusal.h"
#include "emulator/capture/graph_allocation.h"
#include "emulator/code/function.h"
#include "emulator/code/kernel.h"
#include "emulator/code/kernel_params.h"
#include "emulator/graph/capture_gate.h"

namespace cuvmm::emulator {

namespace {

using NodeWork = std::function<CUresult(Emulator&, bool perform)>;

// A node runs in the context that it names, whichever context is current at the launch.
CUresult run_on(Emulator& e, CUcontext handle, const NodeWork& work, bool perform) {
  if (!handle) return work(e, perform);
  Context* context = e.contexts.find(handle);
  if (!context || !context->alive) return CUDA_ERROR_INVALID_CONTEXT;
  ContextStack& stack = ContextStack::of_this_thread();
  stack.push(context);
  const CUresult result = work(e, perform);
  stack.pop();
  return result;
}

void set_work(GraphNode& node, CUcontext context, const NodeWork& work) {
  node.run = [context, work](Emulator& e) { return run_on(e, context, work, true); };
}

CUresult make_copy(Emulator& e, CUgraph graph, const CUDA_MEMCPY_NODE_PARAMS& asked,
                   GraphNode& out) {
  const CUDA_MEMCPY3D& copy = asked.copyParams;
  if (asked.flags != 0 || asked.reserved != 0) return CUDA_ERROR_INVALID_VALUE;
  const calls::Memcpy3DAsync call{&copy, nullptr};
  const Copy planned = plan(call);
  const NodeWork work = detail::kept(call);
  const Graph& home = *e.graphs.find(graph);
  if (!home.allocates(planned.to.base) && !home.allocates(planned.from.base)) {
    const CUresult result = run_on(e, asked.copyCtx, work, false);
    if (result != CUDA_SUCCESS) return result;
  }
  out.params = copy;
  set_work(out, asked.copyCtx, work);
  return CUDA_SUCCESS;
}

NodeWork fill_of(const CUDA_MEMSET_NODE_PARAMS_v2& fill) {
  const auto pitch = fill.height == 1 ? fill.width * fill.elementSize : fill.pitch;
  switch (fill.elementSize) {
    case 1:
      return detail::kept(calls::MemsetD2D8Async{fill.dst, pitch,
                                                 static_cast<unsigned char>(fill.value), fill.width,
                                                 fill.height, nullptr});
    case 2:
      return detail::kept(calls::MemsetD2D16Async{fill.dst, pitch,
                                                  static_cast<unsigned short>(fill.value),
                                                  fill.width, fill.height, nullptr});
    case 4:
      return detail::kept(
          calls::MemsetD2D32Async{fill.dst, pitch, fill.value, fill.width, fill.height, nullptr});
    default:
      return nullptr;
  }
}

CUresult make_fill(const Graph& home, const CUDA_MEMSET_NODE_PARAMS_v2& fill, GraphNode& out) {
  const NodeWork work = fill_of(fill);
  if (!work || fill.width == 0 || fill.height == 0) return CUDA_ERROR_INVALID_VALUE;
  out.params = CUDA_MEMSET_NODE_PARAMS{fill.dst,         fill.pitch, fill.value,
                                       fill.elementSize, fill.width, fill.height};
  CUcontext context = fill.ctx;
  set_work(out, context, work);
  out.check = nullptr;
  if (!home.allocates(fill.dst)) {
    out.check = [context, work](Emulator& e) { return run_on(e, context, work, false); };
  }
  return CUDA_SUCCESS;
}

// Copies the parameters of the kernel as they are now.
CUresult make_kernel(Emulator& e, const CUDA_KERNEL_NODE_PARAMS_v3& asked, GraphNode& out) {
  Context* context = asked.ctx ? e.contexts.find(asked.ctx) : e.current_context();
  if (!context || !context->alive) return CUDA_ERROR_INVALID_CONTEXT;
  const Launch launch{"cuGraphLaunch",
                      {{asked.gridDimX, asked.gridDimY, asked.gridDimZ},
                       {asked.blockDimX, asked.blockDimY, asked.blockDimZ},
                       asked.sharedMemBytes},
                      asked.kernelParams,
                      asked.extra};
  if (!possible(launch.shape)) return CUDA_ERROR_INVALID_VALUE;
  const auto handle = asked.func ? asked.func : reinterpret_cast<CUfunction>(asked.kern);
  Function* function = nullptr;
  const CUresult found =
      handle ? find_function(e, *context, handle, function) : CUDA_ERROR_INVALID_VALUE;
  if (found != CUDA_SUCCESS) return found;
  const CUresult prepared = prepare(e, *context, *function, launch, out.run);
  if (prepared != CUDA_SUCCESS) return prepared;
  out.params = std::make_shared<const KernelParams>(asked, &function->code, *context);
  return CUDA_SUCCESS;
}

CUresult make_host(const CUDA_HOST_NODE_PARAMS_v2& asked, GraphNode& out) {
  if (!asked.fn) return CUDA_ERROR_INVALID_VALUE;
  out.host = asked.fn;
  out.data = asked.userData;
  out.params = CUDA_HOST_NODE_PARAMS{asked.fn, asked.userData};
  return CUDA_SUCCESS;
}

CUresult make_allocation(Emulator& e, CUDA_MEM_ALLOC_NODE_PARAMS_v2& asked, GraphNode& out) {
  const CUmemPoolProps& props = asked.poolProps;
  const bool on_device = props.location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  if (asked.bytesize == 0 || props.allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
      props.handleTypes != CU_MEM_HANDLE_TYPE_NONE || !on_device ||
      !e.valid_device(props.location.id) || (asked.accessDescCount != 0 && !asked.accessDescs)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (std::size_t i = 0; i < asked.accessDescCount; ++i) {
    const CUmemLocation& peer = asked.accessDescs[i].location;
    if (peer.type != CU_MEM_LOCATION_TYPE_DEVICE || !e.valid_device(peer.id)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (!e.can_reach(props.location.id, peer.id)) return CUDA_ERROR_INVALID_DEVICE;
  }
  const auto base = e.space.take(asked.bytesize, 0, 0);
  if (!base) return CUDA_ERROR_OUT_OF_MEMORY;
  const auto memory = std::make_shared<NodeMemory>(e.space, *base, asked.bytesize,
                                                   e.pools.default_of(props.location.id));
  out.memory = memory;
  out.run = [memory](Emulator& at) { return allocate(at, *memory); };
  asked.dptr = *base;
  CUDA_MEM_ALLOC_NODE_PARAMS kept{};
  kept.poolProps = props;
  kept.bytesize = asked.bytesize;
  kept.dptr = *base;
  out.params = kept;  // without accessDescs, whose array the caller owns
  return CUDA_SUCCESS;
}

CUresult make_free(Emulator& e, CUgraph graph, const CUDA_MEM_FREE_NODE_PARAMS& asked,
                   GraphNode& out) {
  bool freed = false, allocated = false;
  for (const auto& node : e.graphs.find(graph)->nodes) {
    const auto* other = std::get_if<CUDA_MEM_FREE_NODE_PARAMS>(&node->params);
    freed |= other && other->dptr == asked.dptr;
    allocated |= node->memory && node->memory->base() == asked.dptr;
  }
  // Memory of another graph's node is known by its address after that graph was launched.
  const PlainAllocation* plain = e.plain.at(asked.dptr);
  const bool elsewhere = plain && plain->base == asked.dptr && plain->pool != 0;
  if (freed || (!allocated && !elsewhere)) return CUDA_ERROR_INVALID_VALUE;
  out.params = asked;
  out.run = [address = asked.dptr](Emulator& at) { return free_node_memory(at, address); };
  return CUDA_SUCCESS;
}

bool fit_for_a_child(const Graph& graph) {
  return !graph.has_memory_nodes() &&
         std::none_of(graph.nodes.begin(), graph.nodes.end(), [](const auto& node) {
           return node->type == CU_GRAPH_NODE_TYPE_CONDITIONAL;
         });
}

CUresult make_child(Graphs& graphs, CUgraph graph, CUgraph child, GraphNode& out) {
  const Graph* found = graphs.find(child);
  if (!found || !fit_for_a_child(*found)) return CUDA_ERROR_INVALID_VALUE;
  out.bodies = {graphs.clone(child, graph)};
  return CUDA_SUCCESS;
}

CUresult make_condition(Emulator& e, CUgraph graph, CUDA_CONDITIONAL_NODE_PARAMS& asked,
                        GraphNode& out) {
  const Condition* condition = e.graphs.find(asked.handle);
  if (!condition) return CUDA_ERROR_INVALID_VALUE;
  const Context* context = asked.ctx ? e.contexts.find(asked.ctx) : e.current_context();
  if (condition->used || context != condition->context ||
      !e.graphs.within(graph, condition->graph)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const int type = static_cast<int>(asked.type);
  constexpr int kSwitch = 2;  // CU_GRAPH_COND_TYPE_SWITCH, CUDA 12.8
  const unsigned most = type == CU_GRAPH_COND_TYPE_IF ? 2 : type == kSwitch ? ~0U : 1;
  if (type < 0 || type > kSwitch || asked.size == 0 || asked.size > most) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  e.graphs.use(asked.handle);
  for (unsigned i = 0; i < asked.size; ++i) {
    out.bodies.push_back(e.graphs.add(Graph{.parent = graph}));
  }
  asked.phGraph_out = out.bodies.data();
  out.params = asked;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult make_node(Emulator& e, CUgraph graph, CUgraphNodeParams& params, GraphNode& out) {
  out.type = params.type;
  switch (params.type) {
    case CU_GRAPH_NODE_TYPE_EMPTY:
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return make_copy(e, graph, params.memcpy, out);
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return make_fill(*e.graphs.find(graph), params.memset, out);
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return make_kernel(e, params.kernel, out);
    case CU_GRAPH_NODE_TYPE_HOST:
      return make_host(params.host, out);
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return make_child(e.graphs, graph, params.graph.graph, out);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return make_allocation(e, params.alloc, out);
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return make_free(e, graph, params.free, out);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      return make_condition(e, graph, params.conditional, out);
    default:
      break;
  }
  constexpr auto kLastType = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  if (static_cast<unsigned>(params.type) > kLastType) return CUDA_ERROR_INVALID_VALUE;
  static std::atomic<bool> said{false};
  return refuse_once(said, "cuGraphAddNode (of events, semaphores and batches)");
}

CUresult change_node(Emulator& e, CUgraph graph, CUgraphNodeParams& params, GraphNode& node) {
  if (params.type != node.type) return CUDA_ERROR_INVALID_VALUE;
  if (node.type != CU_GRAPH_NODE_TYPE_MEMCPY && node.type != CU_GRAPH_NODE_TYPE_MEMSET &&
      node.type != CU_GRAPH_NODE_TYPE_HOST && node.type != CU_GRAPH_NODE_TYPE_KERNEL) {
    static std::atomic<bool> said{false};
    return refuse_once(said,
                       "cuGraphNodeSetParams (but of copies, fills, kernels and host functions)");
  }
  return make_node(e, graph, params, node);
}

}  // namespace cuvmm::emulator
