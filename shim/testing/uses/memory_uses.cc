// SPDX-License-Identifier: Apache-2.0
// Copies, fills, prefetches, batches and nodes of graphs that use memory.
#include "uses.h"

namespace uses {

namespace {

CUmemLocation device() {
  CUmemLocation place{};
  place.type = CU_MEM_LOCATION_TYPE_DEVICE;
  return place;
}
// A word behind the end of memory that a use would leave.
CUdeviceptr word(const Object& o) { return o.address + kUsed / 2; }

CUDA_MEMCPY3D from_to(CUmemorytype from, CUmemorytype to) {
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = from;
  copy.dstMemoryType = to;
  copy.srcDevice = copy.dstDevice = scene.memory;
  copy.srcHost = copy.dstHost = scene.host;
  copy.srcPitch = copy.dstPitch = kUsed;
  copy.srcHeight = copy.dstHeight = 1;
  copy.WidthInBytes = kUsed;
  copy.Height = copy.Depth = 1;
  return copy;
}

// Puts one node into a graph and launches that.
template <class Add>
CUresult launched(const Add& add) {
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec exec = nullptr;
  MUST(cuGraphCreate(&graph, 0));
  CUresult result = add(&node, graph);
  if (result == CUDA_SUCCESS) result = cuGraphInstantiate(&exec, graph, 0);
  return result == CUDA_SUCCESS ? cuGraphLaunch(exec, scene.stream) : result;
}
CUresult copy_node(const CUDA_MEMCPY3D& copy) {
  return launched([&](CUgraphNode* node, CUgraph graph) {
    return cuGraphAddMemcpyNode(node, graph, nullptr, 0, &copy, scene.context);
  });
}
CUresult fill_node(CUdeviceptr address) {
  return launched([&](CUgraphNode* node, CUgraph graph) {
    const CUDA_MEMSET_NODE_PARAMS params{address, 0, 1, 1, kUsed, 1};
    return cuGraphAddMemsetNode(node, graph, nullptr, 0, &params, scene.context);
  });
}
CUresult batch(CUdeviceptr to, CUdeviceptr from) {
  CUmemcpyAttributes attributes{};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  std::size_t first = 0, size = kUsed;
  return cuMemcpyBatchAsync(&to, &from, &size, 1, &attributes, &first, 1, scene.stream);
}
CUresult word_operation(CUdeviceptr address) {
  CUstreamBatchMemOpParams one{};
  one.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  one.writeValue.address = address;
  return cuStreamBatchMemOp(scene.stream, 1, &one, 0);
}
CUDA_MEMCPY2D rows() {
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = copy.dstDevice = scene.memory;
  copy.srcPitch = copy.dstPitch = kUsed / 2;
  copy.WidthInBytes = kUsed / 2;
  copy.Height = 2;
  return copy;
}
CUdeviceptr as_address(const Object& o) { return reinterpret_cast<CUdeviceptr>(o.host); }

}  // namespace

// One line for each use, whatever its length.
// clang-format off
#define ON_DEVICE(call) {"device", #call, [](const Object& o) -> CUresult { return call; }}
#define ON_HOST(call) {"host", #call, [](const Object& o) -> CUresult { return call; }}
const std::vector<Use>& memory_uses() {
  static const std::vector<Use> kUses = {
      ON_DEVICE(cuMemsetD8(o.address, 1, kUsed)),
      ON_DEVICE(cuMemsetD16(o.address, 1, kUsed / 2)),
      ON_DEVICE(cuMemsetD32(o.address, 1, kUsed / 4)),
      ON_DEVICE(cuMemsetD2D8(o.address, kUsed / 2, 1, kUsed / 2, 2)),
      ON_DEVICE(cuMemsetD2D16(o.address, kUsed / 2, 1, kUsed / 4, 2)),
      ON_DEVICE(cuMemsetD2D32(o.address, kUsed / 2, 1, kUsed / 8, 2)),
      ON_DEVICE(cuMemsetD8Async(o.address, 1, kUsed, scene.stream)),
      ON_DEVICE(cuMemsetD16Async(o.address, 1, kUsed / 2, scene.stream)),
      ON_DEVICE(cuMemsetD32Async(o.address, 1, kUsed / 4, scene.stream)),
      ON_DEVICE(cuMemsetD2D8Async(o.address, kUsed / 2, 1, kUsed / 2, 2, scene.stream)),
      ON_DEVICE(cuMemcpyHtoD(o.address, scene.host, kUsed)),
      ON_DEVICE(cuMemcpyDtoH(scene.host, o.address, kUsed)),
      ON_DEVICE(cuMemcpyDtoD(o.address, scene.memory, kUsed)),
      ON_DEVICE(cuMemcpyDtoD(scene.memory, o.address, kUsed)),
      ON_DEVICE(cuMemcpy(o.address, scene.memory, kUsed)),
      ON_DEVICE(cuMemcpyHtoDAsync(o.address, scene.host, kUsed, scene.stream)),
      ON_DEVICE(cuMemcpyDtoHAsync(scene.host, o.address, kUsed, scene.stream)),
      ON_DEVICE(cuMemcpyDtoDAsync(o.address, scene.memory, kUsed, scene.stream)),
      ON_DEVICE(cuMemcpyAsync(scene.memory, o.address, kUsed, scene.stream)),
      ON_DEVICE(cuMemcpyPeer(o.address, scene.context, scene.memory, scene.context, kUsed)),
      ON_DEVICE(cuMemcpyPeerAsync(scene.memory, scene.context, o.address, scene.context, kUsed, scene.stream)),
      ON_DEVICE(cuMemcpyDtoA(scene.array, 0, o.address, kUsed)),
      ON_DEVICE(cuMemcpyAtoD(o.address, scene.array, 0, kUsed)),
      {"device", "cuMemcpy2D", [](const Object& o) { CUDA_MEMCPY2D copy = rows(); copy.srcDevice = o.address; return cuMemcpy2D(&copy); }},
      {"device", "cuMemcpy2DAsync", [](const Object& o) { CUDA_MEMCPY2D copy = rows(); copy.dstDevice = o.address; return cuMemcpy2DAsync(&copy, scene.stream); }},
      {"device", "cuMemcpy3D", [](const Object& o) { CUDA_MEMCPY3D copy = from_to(CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE); copy.srcDevice = o.address; return cuMemcpy3D(&copy); }},
      {"device", "cuMemcpy3DAsync", [](const Object& o) { CUDA_MEMCPY3D copy = from_to(CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE); copy.dstDevice = o.address; return cuMemcpy3DAsync(&copy, scene.stream); }},
      {"device", "cuMemcpyBatchAsync, to", [](const Object& o) { return batch(o.address, scene.memory); }},
      {"device", "cuMemcpyBatchAsync, from", [](const Object& o) { return batch(scene.memory, o.address); }},
      ON_DEVICE(cuMemPrefetchAsync(o.address, kUsed, device(), 0, scene.stream)),
      ON_DEVICE(cuStreamWriteValue32(scene.stream, word(o), 1, 0)),
      ON_DEVICE(cuStreamWaitValue32(scene.stream, word(o), 0, CU_STREAM_WAIT_VALUE_GEQ)),
      {"device", "cuStreamBatchMemOp", [](const Object& o) { return word_operation(word(o)); }},
      {"device", "a fill node, launched", [](const Object& o) { return fill_node(o.address); }},
      {"device", "a copy node from it, launched", [](const Object& o) { CUDA_MEMCPY3D copy = from_to(CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE); copy.srcDevice = o.address; return copy_node(copy); }},
      {"device", "a copy node to it, launched", [](const Object& o) { CUDA_MEMCPY3D copy = from_to(CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE); copy.dstDevice = o.address; return copy_node(copy); }},
      ON_HOST(cuMemcpyHtoD(scene.memory, o.host, kUsed)),
      ON_HOST(cuMemcpyDtoH(o.host, scene.memory, kUsed)),
      ON_HOST(cuMemcpyHtoDAsync(scene.memory, o.host, kUsed, scene.stream)),
      ON_HOST(cuMemcpyDtoHAsync(o.host, scene.memory, kUsed, scene.stream)),
      ON_HOST(cuMemcpy(as_address(o), scene.memory, kUsed)),
      ON_HOST(cuMemcpyAsync(scene.memory, as_address(o), kUsed, scene.stream)),
      ON_HOST(cuMemcpyHtoA(scene.array, 0, o.host, kUsed)),
      ON_HOST(cuMemcpyAtoHAsync(o.host, scene.array, 0, kUsed, scene.stream)),
      {"host", "cuMemcpy2D", [](const Object& o) { CUDA_MEMCPY2D copy = rows(); copy.srcMemoryType = CU_MEMORYTYPE_HOST; copy.srcHost = o.host; return cuMemcpy2D(&copy); }},
      {"host", "cuMemcpy3DAsync", [](const Object& o) { CUDA_MEMCPY3D copy = from_to(CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE); copy.srcHost = o.host; return cuMemcpy3DAsync(&copy, scene.stream); }},
      {"host", "cuMemcpyBatchAsync, from", [](const Object& o) { return batch(scene.memory, as_address(o)); }},
      {"host", "a copy node from it, launched", [](const Object& o) { CUDA_MEMCPY3D copy = from_to(CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE); copy.srcHost = o.host; return copy_node(copy); }},
      {"host", "a copy node to it, launched", [](const Object& o) { CUDA_MEMCPY3D copy = from_to(CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST); copy.dstHost = o.host; return copy_node(copy); }},
  };
  return kUses;
}
// clang-format on

}  // namespace uses
