// SPDX-License-Identifier: Apache-2.0
#include "shim/testing/work_world.h"

#include <pthread.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace cuvmm::shim {

namespace {

void cancellation_point() {
  if (WorkAnswers::now->cancels) ::pthread_testcancel();
}

WorkAnswers& now(const char* asked) {
  cancellation_point();
  WorkAnswers::now->asked.emplace_back(asked);
  return *WorkAnswers::now;
}

template <class Key>
CUresult answer_for(const std::map<Key, CUresult>& answers, Key key) {
  const auto found = answers.find(key);
  return found == answers.end() ? CUDA_SUCCESS : found->second;
}

void set_streams(Questions& q) {
  q.context = [](CUcontext* context) {
    cancellation_point();
    *context = WorkAnswers::now->context;
    return CUDA_SUCCESS;
  };
  q.stream_context = [](CUstream, CUcontext* context) {
    *context = now("context").context;
    return CUDA_SUCCESS;
  };
  q.stream_flags = [](CUstream stream, unsigned* flags) {
    *flags = now("flags").non_blocking.contains(stream) ? 1 : 0;
    return CUDA_SUCCESS;
  };
  q.stream_query = [](CUstream stream) {
    WorkAnswers& answers = now("query");
    if (const auto once = std::exchange(answers.while_asked, nullptr)) once();
    return answer_for(answers.queries, stream);
  };
  q.is_capturing = [](CUstream stream, CUstreamCaptureStatus* status) {
    *status = now("capturing").capturing.contains(stream) ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                                          : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
  };
  q.exchange_mode = [](CUstreamCaptureMode* mode) {
    std::swap(*mode, WorkAnswers::now->mode);
    ++WorkAnswers::now->modes_changed;
    return CUDA_SUCCESS;
  };
}

void set_events(Questions& q) {
  q.event_create = [](CUevent* event, unsigned) {
    *event = reinterpret_cast<CUevent>(++now("create").events);
    return CUDA_SUCCESS;
  };
  q.event_record = [](CUevent event, CUstream stream) {
    WorkAnswers& answers = now("record");
    if (const auto once = std::exchange(answers.while_recording, nullptr)) once();
    answers.event_streams[event] = stream;
    return CUDA_SUCCESS;
  };
  q.event_query = [](CUevent event) { return answer_for(now("event").event_queries, event); };
}

/// Mangled types: no type comes twice, so that no type has to be abbreviated.
std::string parameter_types(const std::vector<std::pair<std::size_t, std::size_t>>& layout) {
  std::string types, pointers = "fidcslmtxyjah";
  for (const auto& [offset, size] : layout) {
    if (size != sizeof(std::uint64_t)) {
      types += size < sizeof(std::uint64_t) ? "i" : "4Both";
    } else {
      EXPECT_FALSE(pointers.empty());
      types += std::string("P") + pointers.front();
      pointers.erase(0, 1);
    }
  }
  return types.empty() ? "v" : types;
}

void set_places(Questions& q) {
  q.context_flags = [](unsigned* flags) {
    *flags = 0;
    return CUDA_SUCCESS;
  };
  q.pointer_attributes = [](unsigned count, CUpointer_attribute* attributes, void** out,
                            CUdeviceptr address) {
    const WorkAnswers& answers = now("place");
    errno = EINVAL;  // a driver may change errno
    const auto known = answers.places.find(address);
    for (unsigned i = 0; i < count; ++i) {
      int value = 0;
      if (attributes[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE && known != answers.places.end()) {
        value = known->second;
      } else if (attributes[i] == CU_POINTER_ATTRIBUTE_IS_MANAGED) {
        value = answers.managed.contains(address) ? 1 : 0;
      } else if (attributes[i] == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) {
        value = answers.sync_memops.contains(address) ? 1 : 0;
      }
      std::memcpy(out[i], &value, sizeof value);
    }
    return CUDA_SUCCESS;
  };
}

void set_functions(Questions& q) {
  q.function_parameter = [](CUfunction, std::size_t index, std::size_t* offset, std::size_t* size) {
    const WorkAnswers& answers = now("parameter");
    if (!answers.tells_layout) return CUDA_ERROR_NOT_SUPPORTED;
    if (index >= answers.layout.size()) return CUDA_ERROR_INVALID_VALUE;
    *offset = answers.layout[index].first;
    *size = answers.layout[index].second;
    return CUDA_SUCCESS;
  };
  q.function_name = [](const char** name, CUfunction) {
    WorkAnswers& answers = *WorkAnswers::now;
    if (answers.name.empty()) answers.name = "_Z4fill" + parameter_types(answers.layout);
    *name = answers.name.c_str();
    return CUDA_SUCCESS;
  };
  q.function_module = [](CUmodule* module, CUfunction) {
    *module = WorkAnswers::now->module;
    return CUDA_SUCCESS;
  };
}

std::uintptr_t number_of(CUgraphNode node) { return reinterpret_cast<std::uintptr_t>(node); }
std::size_t index_of(CUgraphNode node) { return number_of(node) - 1; }
CUgraphNode node_of(std::uintptr_t number) { return reinterpret_cast<CUgraphNode>(number); }

/// A node of a graph that the test describes node by node; null if the test describes none.
const WorkAnswers::Node* described(CUgraphNode node) {
  const auto& nodes = WorkAnswers::now->nodes;
  const auto found = nodes.find(number_of(node));
  return found == nodes.end() ? nullptr : &found->second;
}

CUresult nodes_of(CUgraph graph, CUgraphNode* nodes, std::size_t* count) {
  const WorkAnswers& answers = *WorkAnswers::now;
  std::vector<std::uintptr_t> there;
  if (const auto found = answers.graphs.find(graph); found != answers.graphs.end()) {
    there = found->second.nodes;
  } else {
    const std::size_t all =
        answers.kernel_nodes.size() + answers.fill_nodes.size() + (answers.other_node ? 1 : 0);
    for (std::size_t i = 0; i < all; ++i) there.push_back(i + 1);
  }
  for (std::size_t i = 0; nodes && i < there.size(); ++i) nodes[i] = node_of(there[i]);
  *count = there.size();
  return CUDA_SUCCESS;
}

CUresult type_of(CUgraphNode node, CUgraphNodeType* type) {
  if (const WorkAnswers::Node* const known = described(node)) {
    *type = known->type;
    return CUDA_SUCCESS;
  }
  const WorkAnswers& answers = *WorkAnswers::now;
  const std::size_t kernels = answers.kernel_nodes.size();
  const std::size_t fills = kernels + answers.fill_nodes.size();
  const std::size_t index = index_of(node);
  *type = index < kernels ? CU_GRAPH_NODE_TYPE_KERNEL
          : index < fills ? CU_GRAPH_NODE_TYPE_MEMSET
                          : *answers.other_node;
  return CUDA_SUCCESS;
}

void set_graphs(Questions& q) {
  q.graph_nodes = nodes_of;
  q.node_type = type_of;
  q.kernel_node = [](CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v2* out) {
    const WorkAnswers::Node* const known = described(node);
    *out = known ? known->kernel : WorkAnswers::now->kernel_nodes[index_of(node)];
    return CUDA_SUCCESS;
  };
  q.memset_node = [](CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* out) {
    const WorkAnswers& answers = *WorkAnswers::now;
    if (const WorkAnswers::Node* const known = described(node)) {
      *out = {known->memory.base, 0, 0, 1, known->memory.size, 1};
    } else {
      *out = answers.fill_nodes[index_of(node) - answers.kernel_nodes.size()];
    }
    return CUDA_SUCCESS;
  };
}

void set_graph_memory(Questions& q) {
  q.allocation_node = [](CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS* out) {
    out->dptr = described(node)->memory.base;
    out->bytesize = described(node)->memory.size;
    return CUDA_SUCCESS;
  };
  q.free_node = [](CUgraphNode node, CUdeviceptr* out) {
    *out = described(node)->memory.base;
    return CUDA_SUCCESS;
  };
  q.child_graph = [](CUgraphNode node, CUgraph* out) {
    *out = described(node)->child;
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  };
  q.graph_edges = [](CUgraph graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData*,
                     std::size_t* count) {
    const WorkAnswers& answers = now("edges");
    const auto found = answers.graphs.find(graph);
    if (found == answers.graphs.end()) return *count = 0, CUDA_SUCCESS;
    const auto& edges = found->second.edges;
    for (std::size_t i = 0; from && i < edges.size(); ++i) {
      from[i] = node_of(edges[i].first);
      to[i] = node_of(edges[i].second);
    }
    *count = edges.size();
    return answers.edges;
  };
}

}  // namespace

Questions work_questions() {
  Questions q;
  set_streams(q);
  set_events(q);
  set_places(q);
  set_functions(q);
  set_graphs(q);
  set_graph_memory(q);
  return q;
}

namespace {

// Accepts calls about streams, events, contexts and modules.
void accept_order(AnsweringDriver& driver) {
  const auto accepts = [](auto...) { return CUDA_SUCCESS; };
  driver.set(calls::StreamWriteValue32{}, accepts);
  driver.set(calls::StreamWaitValue32{}, accepts);
  driver.set(calls::StreamBatchMemOp{}, accepts);
  driver.set(calls::SignalExternalSemaphoresAsync{}, accepts);
  driver.set(calls::WaitExternalSemaphoresAsync{}, accepts);
  driver.set(calls::GraphExecDestroy{}, accepts);
  driver.set(calls::StreamBeginCapture{}, accepts);
  driver.set(calls::StreamQuery{},
             [](CUstream stream) { return answer_for(WorkAnswers::now->queries, stream); });
  driver.set(calls::StreamSynchronize{}, accepts);
  driver.set(calls::StreamWaitEvent{}, accepts);
  driver.set(calls::StreamDestroy{}, accepts);
  driver.set(calls::EventRecord{}, accepts);
  driver.set(calls::EventQuery{},
             [](CUevent event) { return answer_for(WorkAnswers::now->event_queries, event); });
  driver.set(calls::EventSynchronize{}, accepts);
  driver.set(calls::EventElapsedTime{}, accepts);
  driver.set(calls::CtxRecordEvent{}, accepts);
  driver.set(calls::CtxWaitEvent{}, accepts);
  driver.set(calls::GreenCtxRecordEvent{}, accepts);
  driver.set(calls::GreenCtxWaitEvent{}, accepts);
  driver.set(calls::EventDestroy{}, accepts);
  driver.set(calls::IpcGetEventHandle{}, accepts);
  driver.set(calls::CtxSynchronize{}, accepts);
  driver.set(calls::CtxDestroy{}, accepts);
  driver.set(calls::ModuleLoadData{}, [](CUmodule* module, const void*) {
    *module = WorkAnswers::now->module;
    return CUDA_SUCCESS;
  });
  driver.set(calls::ModuleUnload{}, accepts);
}

void accept_mappings(AnsweringDriver& driver) {
  const auto accepts = [](auto...) { return CUDA_SUCCESS; };
  driver.set(calls::MemAddressReserve{}, [](CUdeviceptr* out, std::size_t, std::size_t,
                                            CUdeviceptr purpose, unsigned long long) {
    *out = purpose;
    return CUDA_SUCCESS;
  });
  driver.set(calls::MemAddressFree{}, accepts);
  driver.set(calls::MemCreate{}, [](CUmemGenericAllocationHandle* handle, std::size_t,
                                    const CUmemAllocationProp*, unsigned long long) {
    static std::atomic<std::uint64_t> next{0xe00};
    *handle = next.fetch_add(0x100);
    return CUDA_SUCCESS;
  });
  driver.set(calls::MemMap{}, accepts);
  driver.set(calls::MemUnmap{}, [](auto...) { return WorkAnswers::now->unmap; });
  driver.set(calls::MemRelease{}, accepts);
  driver.set(calls::MemSetAccess{}, accepts);
}

// Opens memory of another process, of one granule.
void accept_ipc(AnsweringDriver& driver) {
  driver.set(calls::IpcOpenMemHandle{}, [](CUdeviceptr* out, CUipcMemHandle, unsigned) {
    *out = WorkAnswers::now->plain_memory;
    return CUDA_SUCCESS;
  });
  driver.set(calls::IpcCloseMemHandle{}, [](CUdeviceptr) { return CUDA_SUCCESS; });
  driver.set(calls::MemGetAddressRange{},
             [](CUdeviceptr* base, std::size_t* size, CUdeviceptr address) {
               *base = address;
               *size = kGranule;
               return CUDA_SUCCESS;
             });
  driver.set(calls::PointerGetAttribute{},
             [](void* data, CUpointer_attribute attribute, CUdeviceptr address) {
               const auto& places = WorkAnswers::now->places;
               const auto place = places.find(address);
               if (attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE && place != places.end()) {
                 std::memcpy(data, &place->second, sizeof(unsigned));
                 return CUDA_SUCCESS;
               }
               if (attribute != CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE) {
                 return CUDA_ERROR_INVALID_VALUE;
               }
               const int capable = 1;
               std::memcpy(data, &capable, sizeof capable);
               return CUDA_SUCCESS;
             });
}

void accept_contexts(AnsweringDriver& driver) {
  driver.set(calls::CtxGetCurrent{}, [](CUcontext* context) {
    cancellation_point();
    *context = WorkAnswers::now->context;
    return CUDA_SUCCESS;
  });
  driver.set(calls::CtxGetDevice{}, [](CUdevice* device) {
    cancellation_point();
    *device = 0;
    return CUDA_SUCCESS;
  });
}

}  // namespace

Driver work_driver() {
  AnsweringDriver driver;
  accept_contexts(driver);
  const auto accepts = [](auto...) { return CUDA_SUCCESS; };
  accept_ipc(driver);
  accept_mappings(driver);
  driver.set(calls::MemcpyDtoH{}, accepts);
  driver.set(calls::MemcpyDtoHAsync{}, accepts);
  driver.set(calls::MemcpyHtoD{}, accepts);
  driver.set(calls::MemcpyHtoDAsync{}, accepts);
  driver.set(calls::MemcpyDtoD{}, accepts);
  driver.set(calls::Memcpy{}, accepts);
  driver.set(calls::MemcpyAsync{}, accepts);
  driver.set(calls::Memcpy3D{}, accepts);
  driver.set(calls::MemcpyBatchAsync_v2{}, accepts);
  driver.set(calls::MemsetD8{}, accepts);
  driver.set(calls::MemFree{}, accepts);
  driver.set(calls::MemFreeHost{}, accepts);
  driver.set(calls::MemcpyDtoDAsync{}, accepts);
  driver.set(calls::MemsetD8Async{}, accepts);
  driver.set(calls::MemAllocAsync{}, [](CUdeviceptr* out, std::size_t, CUstream) {
    if (WorkAnswers::now->while_allocating) WorkAnswers::now->while_allocating();
    *out = WorkAnswers::now->pool_memory;
    return CUDA_SUCCESS;
  });
  driver.set(calls::MemFreeAsync{}, [](auto...) { return WorkAnswers::now->free_async; });
  driver.set(calls::MemFree{}, accepts);
  driver.set(calls::LaunchKernel{}, [](auto...) {
    if (WorkAnswers::now->while_launching) WorkAnswers::now->while_launching();
    return WorkAnswers::now->launch;
  });
  driver.set(calls::LaunchKernelEx{}, accepts);
  driver.set(calls::LaunchHostFunc{}, [](auto...) {
    if (WorkAnswers::now->while_telling) WorkAnswers::now->while_telling();
    return WorkAnswers::now->host_function;
  });
  driver.set(calls::MemAlloc{}, [](CUdeviceptr* out, std::size_t) {
    *out = WorkAnswers::now->plain_memory;
    return CUDA_SUCCESS;
  });
  driver.set(calls::MemHostAlloc{}, [](void** out, std::size_t, unsigned) {
    *out = reinterpret_cast<void*>(WorkAnswers::now->plain_memory);
    return CUDA_SUCCESS;
  });
  driver.set(calls::GraphInstantiateWithFlags{},
             [](CUgraphExec* exec, CUgraph, unsigned long long) {
               *exec = reinterpret_cast<CUgraphExec>(WorkAnswers::now->exec);
               return CUDA_SUCCESS;
             });
  driver.set(calls::GraphLaunch{}, [](auto...) { return WorkAnswers::now->graph_launch; });
  driver.set(calls::GraphExecUpdate{}, accepts);
  driver.set(calls::GraphExecUpdate_v2{}, [](auto...) { return WorkAnswers::now->change; });
  driver.set(calls::GraphExecKernelNodeSetParams{}, accepts);
  driver.set(calls::GraphExecKernelNodeSetParams_v1{}, accepts);
  driver.set(calls::GraphExecChildGraphNodeSetParams{}, accepts);
  driver.set(calls::GraphExecMemcpyNodeSetParams{}, accepts);
  driver.set(calls::GraphExecMemsetNodeSetParams{}, accepts);
  driver.set(calls::GraphExecNodeSetParams{}, accepts);
  driver.set(calls::GraphNodeSetEnabled{}, [](auto...) { return WorkAnswers::now->change; });
  // The first word of a map is the address; no real driver promises that.
  driver.set(calls::TensorMapEncodeTiled{},
             [](CUtensorMap* map, CUtensorMapDataType, cuuint32_t, void* address, auto...) {
               std::memset(map, 0x7e, sizeof *map);
               std::memcpy(map, &address, sizeof address);
               return CUDA_SUCCESS;
             });
  driver.set(calls::TensorMapReplaceAddress{}, [](CUtensorMap* map, void* address) {
    std::memcpy(map, &address, sizeof address);
    return CUDA_SUCCESS;
  });
  accept_order(driver);
  Driver made = driver.driver();
  made.set(Symbol::k_cuLaunchKernel_ptsz, made.get(Symbol::k_cuLaunchKernel));
  return made;
}

void WorkWorld::map(CUdeviceptr base, std::size_t size, bool access) {
  CUdeviceptr reserved = 0;
  EXPECT_EQ(run(calls::MemAddressReserve{&reserved, size, 0, base, 0}), CUDA_SUCCESS);
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(run(calls::MemCreate{&handle, size, &prop, 0}), CUDA_SUCCESS);
  EXPECT_EQ(run(calls::MemMap{base, size, 0, handle, 0}), CUDA_SUCCESS);
  if (!access) return;
  CUmemAccessDesc desc{prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  EXPECT_EQ(run(calls::MemSetAccess{base, size, &desc, 1}), CUDA_SUCCESS);
}

CUresult WorkWorld::launch(CUstream stream, std::vector<std::uint64_t> words) {
  if (answers.layout.empty()) {
    for (std::size_t i = 0; i < words.size(); ++i) answers.layout.emplace_back(8 * i, 8);
  }
  std::vector<void*> parameters;
  for (std::uint64_t& word : words) parameters.push_back(&word);
  calls::LaunchKernel call{};
  call.f = function();
  call.hStream = stream;
  call.kernelParams = parameters.data();
  return run(call);
}

}  // namespace cuvmm::shim
