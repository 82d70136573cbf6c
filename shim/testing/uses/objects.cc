// SPDX-License-Identifier: Apache-2.0
// Arrays, streams, events, contexts and pools that live and that have ended, and their uses.
#include "uses.h"

namespace uses {

namespace {

CUarray array() {
  CUarray made = nullptr;
  const CUDA_ARRAY_DESCRIPTOR shape{64, 16, CU_AD_FORMAT_UNSIGNED_INT8, 1};
  MUST(cuArrayCreate(&made, &shape));
  return made;
}
CUarray level(CUmipmappedArray& whole) {
  CUarray made = nullptr;
  const CUDA_ARRAY3D_DESCRIPTOR shape{64, 16, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0};
  MUST(cuMipmappedArrayCreate(&whole, &shape, 2));
  MUST(cuMipmappedArrayGetLevel(&made, whole, 0));
  return made;
}
CUstream stream() {
  CUstream made = nullptr;
  MUST(cuStreamCreate(&made, CU_STREAM_NON_BLOCKING));
  return made;
}
CUevent event() {
  CUevent made = nullptr;
  MUST(cuEventCreate(&made, 0));
  return made;
}
CUcontext context() {
  CUcontext made = nullptr;
  begin_context();
  MUST(cuCtxGetCurrent(&made));
  MUST(cuCtxSetCurrent(scene.context));
  return made;
}
CUmemoryPool pool() {
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemoryPool made = nullptr;
  MUST(cuMemPoolCreate(&made, &props));
  return made;
}

CUDA_MEMCPY2D array_rows() {
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = copy.dstDevice = scene.memory;
  copy.srcPitch = copy.dstPitch = kUsed;
  copy.WidthInBytes = kUsed / 2;
  copy.Height = 2;
  return copy;
}
CUresult launch_on(CUstream stream) {
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec exec = nullptr;
  const CUDA_MEMSET_NODE_PARAMS params{scene.memory, 0, 0, 1, kUsed, 1};
  MUST(cuGraphCreate(&graph, 0));
  MUST(cuGraphAddMemsetNode(&node, graph, nullptr, 0, &params, scene.context));
  MUST(cuGraphInstantiate(&exec, graph, 0));
  return cuGraphLaunch(exec, stream);
}
CUresult capture_on(CUstream stream) {
  CUgraph graph = nullptr;
  const CUresult result = cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  return result == CUDA_SUCCESS ? cuStreamEndCapture(stream, &graph) : result;
}
CUresult allocate_on(CUstream stream) {
  CUdeviceptr made = 0;
  return cuMemAllocAsync(&made, kUsed, stream);
}
CUresult event_node(CUevent event, bool record) {
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  MUST(cuGraphCreate(&graph, 0));
  return record ? cuGraphAddEventRecordNode(&node, graph, nullptr, 0, event)
                : cuGraphAddEventWaitNode(&node, graph, nullptr, 0, event);
}
CUresult allocate_from(CUmemoryPool pool) {
  CUdeviceptr made = 0;
  return cuMemAllocFromPoolAsync(&made, kUsed, pool, scene.stream);
}

}  // namespace

// One line for each state and use, whatever its length.
// clang-format off
const std::vector<State>& object_states() {
  static const std::vector<State> kStates = {
      {"array", "an array", "alive", [](Object& o) { o.array = array(); }},
      {"array", "an array", "destroyed", [](Object& o) { o.array = array(); MUST(cuArrayDestroy(o.array)); }},
      {"array", "an array", "its context destroyed", [](Object& o) { begin_context(); o.array = array(); end_context(); }},
      {"array", "a level of a mipmapped array", "alive", [](Object& o) { CUmipmappedArray whole; o.array = level(whole); }},
      {"array", "a level of a mipmapped array", "destroyed", [](Object& o) { CUmipmappedArray whole; o.array = level(whole); MUST(cuMipmappedArrayDestroy(whole)); }},
      {"stream", "a stream", "alive", [](Object& o) { o.stream = stream(); }},
      {"stream", "a stream", "destroyed", [](Object& o) { o.stream = stream(); MUST(cuStreamDestroy(o.stream)); }},
      {"stream", "a stream", "its context destroyed", [](Object& o) { begin_context(); o.stream = stream(); end_context(); }},
      {"event", "an event", "alive", [](Object& o) { o.event = event(); }},
      {"event", "an event", "destroyed", [](Object& o) { o.event = event(); MUST(cuEventDestroy(o.event)); }},
      {"event", "an event", "its context destroyed", [](Object& o) { begin_context(); o.event = event(); end_context(); }},
      {"context", "a context", "alive", [](Object& o) { o.context = context(); }},
      {"context", "a context", "destroyed", [](Object& o) { o.context = context(); MUST(cuCtxDestroy(o.context)); }},
      {"pool", "a pool", "alive", [](Object& o) { o.pool = pool(); }},
      {"pool", "a pool", "destroyed", [](Object& o) { o.pool = pool(); MUST(cuMemPoolDestroy(o.pool)); }},
  };
  return kStates;
}

#define USE(kind, call) {#kind, #call, [](const Object& o) -> CUresult { return call; }}
const std::vector<Use>& object_uses() {
  static const std::vector<Use> kUses = {
      USE(array, cuMemcpyHtoA(o.array, 0, scene.host, kUsed)),
      USE(array, cuMemcpyAtoH(scene.host, o.array, 0, kUsed)),
      USE(array, cuMemcpyHtoAAsync(o.array, 0, scene.host, kUsed, scene.stream)),
      USE(array, cuMemcpyDtoA(o.array, 0, scene.memory, kUsed)),
      USE(array, cuMemcpyAtoD(scene.memory, o.array, 0, kUsed)),
      USE(array, cuMemcpyAtoA(scene.array, 0, o.array, 0, kUsed)),
      {"array", "cuMemcpy2D", [](const Object& o) { CUDA_MEMCPY2D copy = array_rows(); copy.srcMemoryType = CU_MEMORYTYPE_ARRAY; copy.srcArray = o.array; return cuMemcpy2D(&copy); }},
      {"array", "cuMemcpy2DAsync", [](const Object& o) { CUDA_MEMCPY2D copy = array_rows(); copy.dstMemoryType = CU_MEMORYTYPE_ARRAY; copy.dstArray = o.array; return cuMemcpy2DAsync(&copy, scene.stream); }},
      {"array", "cuArrayGetDescriptor", [](const Object& o) { CUDA_ARRAY_DESCRIPTOR shape; return cuArrayGetDescriptor(&shape, o.array); }},
      {"array", "cuTexObjectCreate", [](const Object& o) { CUDA_RESOURCE_DESC resource{}; resource.resType = CU_RESOURCE_TYPE_ARRAY; resource.res.array.hArray = o.array; CUtexObject made; CUDA_TEXTURE_DESC texture{}; return cuTexObjectCreate(&made, &resource, &texture, nullptr); }},
      USE(stream, cuStreamSynchronize(o.stream)),
      USE(stream, cuStreamQuery(o.stream)),
      USE(stream, cuStreamWaitEvent(o.stream, scene.event, 0)),
      USE(stream, cuEventRecord(scene.event, o.stream)),
      USE(stream, cuMemsetD8Async(scene.memory, 1, kUsed, o.stream)),
      USE(stream, cuMemcpyHtoDAsync(scene.memory, scene.host, kUsed, o.stream)),
      USE(stream, cuMemcpyDtoDAsync(scene.memory, scene.memory + 4096, kUsed, o.stream)),
      USE(stream, cuMemcpyAsync(scene.memory, scene.memory + 4096, kUsed, o.stream)),
      USE(stream, cuStreamWriteValue32(o.stream, scene.memory, 1, 0)),
      USE(stream, cuLaunchHostFunc(o.stream, [](void*) {}, nullptr)),
      {"stream", "cuStreamBeginCapture", [](const Object& o) { return capture_on(o.stream); }},
      {"stream", "cuMemAllocAsync", [](const Object& o) { return allocate_on(o.stream); }},
      {"stream", "cuGraphLaunch", [](const Object& o) { return launch_on(o.stream); }},
      USE(stream, cuStreamDestroy(o.stream)),
      USE(event, cuEventRecord(o.event, scene.stream)),
      USE(event, cuEventSynchronize(o.event)),
      USE(event, cuEventQuery(o.event)),
      USE(event, cuStreamWaitEvent(scene.stream, o.event, 0)),
      {"event", "cuGraphAddEventRecordNode", [](const Object& o) { return event_node(o.event, true); }},
      {"event", "cuGraphAddEventWaitNode", [](const Object& o) { return event_node(o.event, false); }},
      USE(event, cuEventDestroy(o.event)),
      USE(context, cuCtxSetCurrent(o.context)),
      USE(context, cuCtxPushCurrent(o.context)),
      {"context", "cuCtxGetApiVersion", [](const Object& o) { unsigned version; return cuCtxGetApiVersion(o.context, &version); }},
      USE(context, cuMemcpyPeer(scene.memory, o.context, scene.memory + 4096, scene.context, kUsed)),
      USE(context, cuMemcpyPeerAsync(scene.memory, scene.context, scene.memory + 4096, o.context, kUsed, scene.stream)),
      USE(context, cuCtxDestroy(o.context)),
      {"pool", "cuMemAllocFromPoolAsync", [](const Object& o) { return allocate_from(o.pool); }},
      {"pool", "cuMemPoolGetAttribute", [](const Object& o) { cuuint64_t value; return cuMemPoolGetAttribute(o.pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value); }},
      USE(pool, cuMemPoolTrimTo(o.pool, 0)),
      USE(pool, cuDeviceSetMemPool(scene.device, o.pool)),
      USE(pool, cuMemPoolDestroy(o.pool)),
  };
  return kUses;
}
// clang-format on

}  // namespace uses
