// SPDX-License-Identifier: Apache-2.0
// An H100 with driver 580.159.04 gave the answers about nodes in random graphs, 2026-11-26.
#include "emulator/graph/graph_nodes.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "emulator/base/refusal.h"
#include "emulator/capture/captured.h"
#include "emulator/capture/graph_allocation.h"
#include "emulator/code/function.h"
#include "emulator/code/kernel.h"
#include "emulator/code/kernel_params.h"
#include "emulator/graph/capture_gate.h"
#include "emulator/graph/page_locked.h"
#include "emulator/graph/semaphore_nodes.h"
#include "rulebook/batch/operations.h"

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

CUresult make_copy(Emulator& e, const CUDA_MEMCPY_NODE_PARAMS& asked, GraphNode& out) {
  const CUDA_MEMCPY3D& copy = asked.copyParams;
  const bool empty = copy.WidthInBytes == 0 || copy.Height == 0 || copy.Depth == 0;
  if (asked.flags != 0 || asked.reserved != 0 || empty) return CUDA_ERROR_INVALID_VALUE;
  const calls::Memcpy3DAsync call{&copy, nullptr};
  const Copy planned = plan(call);
  const NodeWork work = detail::stored_transfer(call);
  if (!e.graphs.memory_at(planned.to.base) && !e.graphs.memory_at(planned.from.base)) {
    const CUresult result = run_on(e, asked.copyCtx, work, false);
    if (result != CUDA_SUCCESS) return result;
  }
  out.params = copy;
  note_page_locked(e, out);
  set_work(out, asked.copyCtx, work);
  return CUDA_SUCCESS;
}

// A driver spreads the value over a word without a mask: bits above an element reach the elements
// behind it (recorded).
unsigned spread(unsigned value, unsigned element) {
  if (element == 1) value |= value << 8;
  return element < 4 ? value | value << 16 : value;
}

CUresult write_words(Emulator& e, const CUDA_MEMSET_NODE_PARAMS_v2& fill) {
  const unsigned word = spread(fill.value, fill.elementSize);
  std::vector<char> row(fill.width * fill.elementSize + sizeof word);
  for (std::size_t at = 0; at + sizeof word <= row.size(); at += sizeof word) {
    std::memcpy(row.data() + at, &word, sizeof word);
  }
  Copy copy;
  copy.to.base = copy.to.named = fill.dst;
  copy.to.pitch = fill.pitch;
  copy.from.base = copy.from.named = reinterpret_cast<Address>(row.data());
  copy.width = fill.width * fill.elementSize;
  copy.height = fill.height;
  return execute(e, copy);
}

NodeWork fill_of(const CUDA_MEMSET_NODE_PARAMS_v2& fill) {
  const auto pitch = fill.height == 1 ? fill.width * fill.elementSize : fill.pitch;
  switch (fill.elementSize) {
    case 1:
      return detail::stored_transfer(calls::MemsetD2D8Async{fill.dst, pitch,
                                                            static_cast<unsigned char>(fill.value),
                                                            fill.width, fill.height, nullptr});
    case 2:
      return detail::stored_transfer(
          calls::MemsetD2D16Async{fill.dst, pitch, static_cast<unsigned short>(fill.value),
                                  fill.width, fill.height, nullptr});
    case 4:
      return detail::stored_transfer(
          calls::MemsetD2D32Async{fill.dst, pitch, fill.value, fill.width, fill.height, nullptr});
    default:
      return nullptr;
  }
}

CUresult make_fill(const Emulator& emulator, const CUDA_MEMSET_NODE_PARAMS_v2& fill,
                   GraphNode& out) {
  const NodeWork plain = fill_of(fill);
  NodeWork work = plain;
  if (plain && fill.elementSize < 4 && fill.value >> 8 * fill.elementSize != 0) {
    work = [plain, fill](Emulator& e, bool perform) {
      const CUresult result = plain(e, perform);
      return perform && result == CUDA_SUCCESS ? write_words(e, fill) : result;
    };
  }
  if (!work || fill.width == 0 || fill.height == 0) return CUDA_ERROR_INVALID_VALUE;
  const bool overlaps = fill.height > 1 && fill.pitch < fill.width * fill.elementSize;
  if (fill.dst % fill.elementSize != 0 || overlaps) return CUDA_ERROR_INVALID_VALUE;
  out.params = CUDA_MEMSET_NODE_PARAMS{fill.dst,         fill.pitch, fill.value,
                                       fill.elementSize, fill.width, fill.height};
  CUcontext context = fill.ctx;
  set_work(out, context, work);
  out.check = nullptr;
  if (!emulator.graphs.memory_at(fill.dst)) {
    out.check = [context, work](Emulator& e) { return run_on(e, context, work, false); };
  }
  return CUDA_SUCCESS;
}

// Copies the parameters of the kernel as they are now.
CUresult make_kernel(Emulator& e, Context* context, const CUDA_KERNEL_NODE_PARAMS_v3& asked,
                     GraphNode& out) {
  if (!context || !context->alive) return CUDA_ERROR_INVALID_CONTEXT;
  Launch launch{"cuGraphLaunch",
                {{asked.gridDimX, asked.gridDimY, asked.gridDimZ},
                 {asked.blockDimX, asked.blockDimY, asked.blockDimZ},
                 asked.sharedMemBytes},
                asked.kernelParams,
                asked.extra};
  for (const auto& [which, value] : out.attributes) {
    if (which == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) launch.shape.together = value.cooperative != 0;
    if (which == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION && value.clusterDim.x != 0)
      launch.cluster = {value.clusterDim.x, value.clusterDim.y, value.clusterDim.z};
  }
  const auto handle = asked.func ? asked.func : reinterpret_cast<CUfunction>(asked.kern);
  if (!handle) return CUDA_ERROR_INVALID_HANDLE;
  if (!possible(launch.shape)) return CUDA_ERROR_INVALID_VALUE;
  Function* function = nullptr;
  const CUresult found = find_function(e, *context, handle, function);
  if (found != CUDA_SUCCESS) return found;
  const CUresult prepared = prepare(e, *context, *function, launch, out.run);
  if (prepared != CUDA_SUCCESS) return prepared;
  out.params = std::make_shared<const KernelParams>(asked, &function->code, *context);
  out.check = [handle](Emulator& at) { return at.modules.loaded(handle); };
  return CUDA_SUCCESS;
}

CUresult make_host(const CUDA_HOST_NODE_PARAMS_v2& asked, GraphNode& out) {
  if (!asked.fn) return CUDA_ERROR_INVALID_VALUE;
  out.host = asked.fn;
  out.data = asked.userData;
  out.params = CUDA_HOST_NODE_PARAMS{asked.fn, asked.userData};
  return CUDA_SUCCESS;
}

// In the order of the driver's checks.
CUresult check_allocation(const Emulator& e, const CUDA_MEM_ALLOC_NODE_PARAMS_v2& asked) {
  const CUmemPoolProps& props = asked.poolProps;
  const bool on_device = props.location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  if (props.allocType != CU_MEM_ALLOCATION_TYPE_PINNED || !on_device ||
      !e.valid_device(props.location.id) || (asked.accessDescCount != 0 && !asked.accessDescs)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (std::size_t i = 0; i < asked.accessDescCount; ++i) {
    const CUmemLocation& peer = asked.accessDescs[i].location;
    if (peer.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
    if (!e.valid_device(peer.id) || !e.can_reach(props.location.id, peer.id)) {
      return CUDA_ERROR_INVALID_DEVICE;
    }
  }
  if (props.handleTypes != CU_MEM_HANDLE_TYPE_NONE) return CUDA_ERROR_NOT_SUPPORTED;
  return asked.bytesize == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult make_allocation(Emulator& e, CUgraph graph, CUDA_MEM_ALLOC_NODE_PARAMS_v2& asked,
                         GraphNode& out) {
  const CUmemPoolProps& props = asked.poolProps;
  const CUresult wrong = check_allocation(e, asked);
  if (wrong != CUDA_SUCCESS) return wrong;
  e.graphs.mark_of_memory(graph);
  std::vector<GraphNode*> before;
  for (const Dependency& each : out.dependencies) before.push_back(each.on);
  const auto memory = memory_for(e, e.graphs.find(graph)->nodes, before, asked.bytesize,
                                 e.pools.default_of(props.location.id));
  if (!memory) return CUDA_ERROR_OUT_OF_MEMORY;
  out.memory = memory;
  out.run = [memory](Emulator& at) { return allocate(at, *memory); };
  asked.dptr = memory->base();
  CUDA_MEM_ALLOC_NODE_PARAMS stored{};
  stored.poolProps = props;
  stored.bytesize = asked.bytesize;
  stored.dptr = memory->base();
  if (asked.accessDescCount != 0) {
    out.access = std::make_shared<std::vector<CUmemAccessDesc>>(
        asked.accessDescs, asked.accessDescs + asked.accessDescCount);
    stored.accessDescs = out.access->data();
    stored.accessDescCount = asked.accessDescCount;
  }
  out.params = stored;
  return CUDA_SUCCESS;
}

CUresult make_free(Emulator& e, CUgraph graph, const CUDA_MEM_FREE_NODE_PARAMS& asked,
                   GraphNode& out) {
  e.graphs.mark_of_memory(graph);
  std::size_t allocations = 0, frees = 0;  // several, where the memory has one address
  bool allocated = false, own = false;
  for (const auto& node : e.graphs.find(graph)->nodes) {
    const auto* other = std::get_if<CUDA_MEM_FREE_NODE_PARAMS>(&node->params);
    frees += other && other->dptr == asked.dptr;
    if (!node->memory || node->memory->base() != asked.dptr) continue;
    own = true;
    ++allocations;
    allocated = !node->memory->instantiated();
  }
  // Other memory of a pool is refused: recorded on an H100, 580.159.04.
  const bool elsewhere = !own && is_of_a_graph(e, asked.dptr);
  const bool freed = own ? frees >= allocations : frees != 0;
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

CUresult check_child(const Graphs& graphs, CUgraph child) {
  const Graph* found = graphs.find(child);
  if (!found || found->broken) return CUDA_ERROR_INVALID_VALUE;
  if (found->parent) return CUDA_ERROR_NOT_SUPPORTED;  // an H100's answer
  return fit_for_a_child(*found) ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult make_child(Graphs& graphs, CUgraph graph, CUgraph child, GraphNode& out) {
  const CUresult wrong = check_child(graphs, child);
  if (wrong != CUDA_SUCCESS) return wrong;
  // A driver dies when a graph is to be its own child (recorded).
  if (graphs.within(graph, child)) return CUDA_ERROR_INVALID_VALUE;
  out.bodies = {graphs.clone(child, graph)};
  return CUDA_SUCCESS;
}

CUresult make_event(Emulator& e, CUevent event, GraphNode& out) {
  if (!e.streams.find(event)) return CUDA_ERROR_INVALID_VALUE;
  out.params = event;
  out.run = event_work(event, out.type == CU_GRAPH_NODE_TYPE_EVENT_RECORD);
  return CUDA_SUCCESS;
}

// A driver checks the alignment of the words when it takes the node, and the memory behind them
// when the node runs (an H100).
bool aligned_words(const calls::StreamBatchMemOp& call) {
  for (std::size_t i = 0; i < operations(call); ++i) {
    const Operation one = operation(call, i);
    const Touch& word = one.list[0];
    if (one.count != 0 && word.width != 0 && word.base % word.width != 0) return false;
  }
  return true;
}

CUresult make_batch(Emulator& e, const CUDA_BATCH_MEM_OP_NODE_PARAMS_v2& asked, GraphNode& out) {
  if (!asked.ctx || !e.contexts.find(asked.ctx)) return CUDA_ERROR_INVALID_VALUE;
  const calls::StreamBatchMemOp call{.stream = nullptr,
                                     .count = asked.count,
                                     .paramArray = asked.paramArray,
                                     .flags = asked.flags};
  // A node that exists may be left without operations (an H100), and a new one may have none where
  // it gets no array (an H200).
  const bool replaces = std::holds_alternative<BatchParams>(out.params);
  const bool empty = asked.count == 0 && (replaces || !asked.paramArray);
  if (asked.count == 0 && !empty) return CUDA_ERROR_INVALID_VALUE;
  const CUresult wrong = empty ? CUDA_SUCCESS : detail::run_stored(e, call, false);
  if (wrong != CUDA_SUCCESS || !aligned_words(call)) return CUDA_ERROR_INVALID_VALUE;
  out.params =
      BatchParams{asked.ctx, {asked.paramArray, asked.paramArray + asked.count}, asked.flags};
  const auto stored = std::make_shared<detail::StoredCall<calls::StreamBatchMemOp>>(call);
  set_work(out, asked.ctx, [stored, empty](Emulator& at, bool perform) {
    return empty ? CUDA_SUCCESS : detail::run_stored(at, stored->call(), perform);
  });
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

CUresult make_kernel_again(Emulator& e, GraphNode& node) {
  const auto kernel = std::get<std::shared_ptr<const KernelParams>>(node.params);
  return make_kernel(e, &kernel->context(), kernel->params(), node);
}

CUresult make_node(Emulator& e, CUgraph graph, CUgraphNodeParams& params, GraphNode& out) {
  out.type = params.type;
  switch (params.type) {
    case CU_GRAPH_NODE_TYPE_EMPTY:
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return make_copy(e, params.memcpy, out);
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return make_fill(e, params.memset, out);
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return make_kernel(
          e, params.kernel.ctx ? e.contexts.find(params.kernel.ctx) : e.current_context(),
          params.kernel, out);
    case CU_GRAPH_NODE_TYPE_HOST:
      return make_host(params.host, out);
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return make_child(e.graphs, graph, params.graph.graph, out);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return make_allocation(e, graph, params.alloc, out);
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return make_free(e, graph, params.free, out);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      return make_condition(e, graph, params.conditional, out);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return make_event(e, params.eventRecord.event, out);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return make_event(e, params.eventWait.event, out);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      return make_batch(e, params.memOp, out);
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
      return make_semaphores(CUDA_EXT_SEM_SIGNAL_NODE_PARAMS{params.extSemSignal.extSemArray,
                                                             params.extSemSignal.paramsArray,
                                                             params.extSemSignal.numExtSems},
                             out);
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
      return make_semaphores(CUDA_EXT_SEM_WAIT_NODE_PARAMS{params.extSemWait.extSemArray,
                                                           params.extSemWait.paramsArray,
                                                           params.extSemWait.numExtSems},
                             out);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult refuse_node(Emulator& e, CUgraph graph, const CUgraphNodeParams& params, CUresult wrong) {
  CUresult first = CUDA_SUCCESS;
  const bool allocation = params.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC;
  if (params.type == CU_GRAPH_NODE_TYPE_GRAPH) first = check_child(e.graphs, params.graph.graph);
  if (allocation) first = check_allocation(e, params.alloc);
  if (first != CUDA_SUCCESS) return first;
  if (allocation || params.type == CU_GRAPH_NODE_TYPE_MEM_FREE) e.graphs.mark_of_memory(graph);
  return wrong;
}

CUresult change_node(Emulator& e, CUgraph graph, CUgraphNodeParams& params, GraphNode& node) {
  if (params.type != node.type) return CUDA_ERROR_INVALID_VALUE;
  if (node.type == CU_GRAPH_NODE_TYPE_EMPTY) return CUDA_SUCCESS;
  if (node.type != CU_GRAPH_NODE_TYPE_MEMCPY && node.type != CU_GRAPH_NODE_TYPE_MEMSET &&
      node.type != CU_GRAPH_NODE_TYPE_HOST && node.type != CU_GRAPH_NODE_TYPE_KERNEL &&
      node.type != CU_GRAPH_NODE_TYPE_EVENT_RECORD && node.type != CU_GRAPH_NODE_TYPE_WAIT_EVENT &&
      node.type != CU_GRAPH_NODE_TYPE_BATCH_MEM_OP &&
      node.type != CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL &&
      node.type != CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT) {
    static std::atomic<bool> printed{false};
    return refuse_once(printed, "cuGraphNodeSetParams (of memory, children and conditions)");
  }
  return make_node(e, graph, params, node);
}

}  // namespace cuvmm::emulator
