// SPDX-License-Identifier: Apache-2.0
// Memory that lives, that has ended, and whose end lies in the middle of what a use touches.
#include <sys/mman.h>

#include <cstdlib>

#include "uses.h"

namespace uses {

namespace {

constexpr const char kGlobal[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .global .align 4 .b8 words[4096];\n";

// The last bytes of the memory: half of the use lies behind them.
CUdeviceptr at_the_end(CUdeviceptr base, std::size_t size) { return base + size - kUsed / 2; }

CUdeviceptr plain() {
  CUdeviceptr made = 0;
  MUST(cuMemAlloc(&made, kMade));
  return made;
}
CUdeviceptr managed() {
  CUdeviceptr made = 0;
  MUST(cuMemAllocManaged(&made, kMade, CU_MEM_ATTACH_GLOBAL));
  return made;
}
CUdeviceptr queued() {
  CUdeviceptr made = 0;
  MUST(cuMemAllocAsync(&made, kMade, scene.stream));
  MUST(cuStreamSynchronize(scene.stream));
  return made;
}
void free_queued(CUdeviceptr address) {
  MUST(cuMemFreeAsync(address, scene.stream));
  MUST(cuStreamSynchronize(scene.stream));
}
CUdeviceptr of_pool(CUmemoryPool& pool) {
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  MUST(cuMemPoolCreate(&pool, &props));
  CUdeviceptr made = 0;
  MUST(cuMemAllocFromPoolAsync(&made, kMade, pool, scene.stream));
  MUST(cuStreamSynchronize(scene.stream));
  return made;
}

// A mapping of one granule.
struct Mapped {
  CUdeviceptr address = 0;
  CUmemGenericAllocationHandle handle = 0;
  std::size_t size = 0;
};
Mapped mapped() {
  Mapped made;
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  MUST(cuMemGetAllocationGranularity(&made.size, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  MUST(cuMemAddressReserve(&made.address, made.size, 0, 0, 0));
  MUST(cuMemCreate(&made.handle, made.size, &prop, 0));
  MUST(cuMemMap(made.address, made.size, 0, made.handle, 0));
  CUmemAccessDesc access{};
  access.location = prop.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  MUST(cuMemSetAccess(made.address, made.size, &access, 1));
  return made;
}

CUdeviceptr global(CUmodule& module) {
  CUdeviceptr made = 0;
  std::size_t size = 0;
  MUST(cuModuleLoadData(&module, kGlobal));
  MUST(cuModuleGetGlobal(&made, &size, module, "words"));
  return made;
}

// Memory of a graph's allocation node, after a launch.
CUdeviceptr of_graph() {
  CUdeviceptr made = 0;
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  MUST(cuStreamBeginCapture(scene.stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  MUST(cuMemAllocAsync(&made, kMade, scene.stream));
  MUST(cuStreamEndCapture(scene.stream, &graph));
  MUST(cuGraphInstantiate(&exec, graph, 0));
  MUST(cuGraphLaunch(exec, scene.stream));
  MUST(cuStreamSynchronize(scene.stream));
  return made;
}

void* locked() {
  void* made = nullptr;
  MUST(cuMemHostAlloc(&made, kMade, CU_MEMHOSTALLOC_PORTABLE));
  return made;
}
void* pages() {
  return ::mmap(nullptr, kMade, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
void* registered() {
  void* const made = pages();
  MUST(cuMemHostRegister(made, kMade, 0));
  return made;
}

}  // namespace

// One line for each state, whatever its length.
// clang-format off
const std::vector<State>& memory_states() {
  static const std::vector<State> kStates = {
      {"device", "memory of cuMemAlloc", "alive", [](Object& o) { o.address = plain(); }},
      {"device", "memory of cuMemAlloc", "freed", [](Object& o) { o.address = plain(); MUST(cuMemFree(o.address)); }},
      {"device", "memory of cuMemAlloc", "past its end", [](Object& o) { o.address = at_the_end(plain(), kMade); }},
      {"device", "memory of cuMemAlloc", "its context destroyed", [](Object& o) { begin_context(); o.address = plain(); end_context(); }},
      {"device", "managed memory", "alive", [](Object& o) { o.address = managed(); }},
      {"device", "managed memory", "freed", [](Object& o) { o.address = managed(); MUST(cuMemFree(o.address)); }},
      {"device", "managed memory", "past its end", [](Object& o) { o.address = at_the_end(managed(), kMade); }},
      {"device", "memory of cuMemAllocAsync", "alive", [](Object& o) { o.address = queued(); }},
      {"device", "memory of cuMemAllocAsync", "freed", [](Object& o) { o.address = queued(); free_queued(o.address); }},
      {"device", "memory of cuMemAllocAsync", "past its end", [](Object& o) { o.address = at_the_end(queued(), kMade); }},
      {"device", "memory of a pool", "alive", [](Object& o) { o.address = of_pool(o.pool); }},
      {"device", "memory of a pool", "freed, the pool destroyed", [](Object& o) { o.address = of_pool(o.pool); free_queued(o.address); MUST(cuMemPoolDestroy(o.pool)); }},
      {"device", "a mapping", "alive", [](Object& o) { o.address = mapped().address; }},
      {"device", "a mapping", "unmapped", [](Object& o) { const Mapped m = mapped(); MUST(cuMemUnmap(m.address, m.size)); o.address = m.address; }},
      {"device", "a mapping", "past its end", [](Object& o) { const Mapped m = mapped(); o.address = at_the_end(m.address, m.size); }},
      {"device", "a global of a module", "alive", [](Object& o) { CUmodule module; o.address = global(module); }},
      {"device", "a global of a module", "unloaded", [](Object& o) { CUmodule module; o.address = global(module); MUST(cuModuleUnload(module)); }},
      {"device", "memory of a graph", "alive", [](Object& o) { o.address = of_graph(); }},
      {"device", "memory of a graph", "freed", [](Object& o) { o.address = of_graph(); free_queued(o.address); }},
      {"host", "page-locked memory", "alive", [](Object& o) { o.host = locked(); }},
      {"host", "page-locked memory", "freed", [](Object& o) { o.host = locked(); MUST(cuMemFreeHost(o.host)); }},
      {"host", "registered memory", "alive", [](Object& o) { o.host = registered(); }},
      {"host", "registered memory", "unregistered", [](Object& o) { o.host = registered(); MUST(cuMemHostUnregister(o.host)); }},
      {"host", "registered memory", "unregistered and unmapped", [](Object& o) { o.host = registered(); MUST(cuMemHostUnregister(o.host)); ::munmap(o.host, kMade); }},
      {"host", "registered memory", "unmapped", [](Object& o) { o.host = registered(); ::munmap(o.host, kMade); }},
  };
  return kStates;
}
// clang-format on

}  // namespace uses
