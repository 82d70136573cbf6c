// SPDX-License-Identifier: Apache-2.0
// Legal programs that look like bugs. cuvmm must stay silent on all of them.
//
// expects: nothing
#include <cstring>
#include <thread>

#include "examples/bugs/bug.h"

namespace {

std::size_t chunk = 0;

CUmemGenericAllocationHandle create(std::size_t size) {
  const CUmemAllocationProp prop = bug::memory_on(0);
  CUmemGenericAllocationHandle handle = 0;
  MUST(cuMemCreate(&handle, size, &prop, 0));
  return handle;
}

CUdeviceptr reserve(std::size_t size) {
  CUdeviceptr address = 0;
  MUST(cuMemAddressReserve(&address, size, 0, 0, 0));
  return address;
}

// Field bug 5, NVIDIA/nccl issue 1795: looks like a double release. Retaining added a reference;
// the first release drops that reference, the second one the creation's reference.
void retain_then_release_twice() {
  const CUdeviceptr address = reserve(chunk);
  const CUmemGenericAllocationHandle created = create(chunk);
  CUmemGenericAllocationHandle retained = 0;
  SAW(CUDA_SUCCESS, cuMemMap(address, chunk, 0, created, 0));
  SAW(CUDA_SUCCESS, cuMemRetainAllocationHandle(&retained, reinterpret_cast<void*>(address)));
  SAW(CUDA_SUCCESS, cuMemRelease(retained));
  SAW(CUDA_SUCCESS, cuMemUnmap(address, chunk));
  SAW(CUDA_SUCCESS, cuMemRelease(retained));
  SAW(CUDA_SUCCESS, cuMemAddressFree(address, chunk));
}

// Field bugs 21 (ROCR-Runtime issue 285), 24 (ROCm/hip-tests) and 37 (llama.cpp pull request
// 23900): a release before the unmap, access set on a grown tail only, and one unmap over both
// mappings. Bug 120 (intel/compute-runtime issue 995): one copy across both.
void grow_and_unmap_at_once() {
  const CUdeviceptr address = reserve(4 * chunk);
  const CUmemAccessDesc access = bug::access_from(0);
  for (std::size_t i = 0; i < 2; ++i) {
    const CUmemGenericAllocationHandle handle = create(chunk);
    SAW(CUDA_SUCCESS, cuMemMap(address + i * chunk, chunk, 0, handle, 0));
    SAW(CUDA_SUCCESS, cuMemRelease(handle));
    SAW(CUDA_SUCCESS, cuMemSetAccess(address + i * chunk, chunk, &access, 1));
  }
  const char text[] = "across the seam";
  char back[sizeof(text)] = {};
  const CUdeviceptr seam = address + chunk - sizeof(text) / 2;
  SAW(CUDA_SUCCESS, cuMemcpyHtoD(seam, text, sizeof(text)));
  SAW(CUDA_SUCCESS, cuMemcpyDtoH(back, seam, sizeof(back)));
  if (std::memcmp(text, back, sizeof(text)) != 0) ++bug::differences;
  SAW(CUDA_SUCCESS, cuMemUnmap(address, 2 * chunk));
  SAW(CUDA_SUCCESS, cuMemAddressFree(address, 4 * chunk));
}

// Maps one allocation at two addresses, each mapping with its own access.
void map_twice() {
  const CUdeviceptr writer = reserve(chunk), reader = reserve(chunk);
  const CUmemAccessDesc write = bug::access_from(0);
  const CUmemAccessDesc read = bug::access_from(0, CU_MEM_ACCESS_FLAGS_PROT_READ);
  const CUmemGenericAllocationHandle handle = create(chunk);
  SAW(CUDA_SUCCESS, cuMemMap(writer, chunk, 0, handle, 0));
  SAW(CUDA_SUCCESS, cuMemMap(reader, chunk, 0, handle, 0));
  SAW(CUDA_SUCCESS, cuMemSetAccess(writer, chunk, &write, 1));
  SAW(CUDA_SUCCESS, cuMemSetAccess(reader, chunk, &read, 1));
  unsigned char byte = 0;
  SAW(CUDA_SUCCESS, cuMemsetD8(writer, 42, chunk));
  SAW(CUDA_SUCCESS, cuMemcpyDtoH(&byte, reader, 1));
  if (byte != 42) ++bug::differences;
  SAW(CUDA_SUCCESS, cuMemUnmap(writer, chunk));
  SAW(CUDA_SUCCESS, cuMemUnmap(reader, chunk));
  SAW(CUDA_SUCCESS, cuMemRelease(handle));
  SAW(CUDA_SUCCESS, cuMemAddressFree(writer, chunk));
  SAW(CUDA_SUCCESS, cuMemAddressFree(reader, chunk));
}

// Field bug 107, HAMi-core pull request 172: none of these calls needs a current context.
void without_a_context() {
  CUcontext context = nullptr;
  SAW(CUDA_SUCCESS, cuCtxGetCurrent(&context));
  if (context != nullptr) ++bug::differences;
  const CUdeviceptr address = reserve(chunk);
  const CUmemAccessDesc access = bug::access_from(0);
  const CUmemGenericAllocationHandle handle = create(chunk);
  SAW(CUDA_SUCCESS, cuMemMap(address, chunk, 0, handle, 0));
  SAW(CUDA_SUCCESS, cuMemSetAccess(address, chunk, &access, 1));
  SAW(CUDA_SUCCESS, cuMemUnmap(address, chunk));
  SAW(CUDA_SUCCESS, cuMemRelease(handle));
  SAW(CUDA_SUCCESS, cuMemAddressFree(address, chunk));
}

// No close is missing here, because the import as external memory took the descriptor over.
// Overlapping buffers show common bytes. They outlive the external memory, and freeing them after
// its end is the documented order (cuda.h, cuDestroyExternalMemory).
void external_memory() {
  const CUmemAllocationHandleType type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  const CUmemAllocationProp prop = bug::memory_on(0, type);
  CUmemGenericAllocationHandle handle = 0;
  CUexternalMemory memory = nullptr;
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = {};
  desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
  desc.size = 2 * chunk;
  MUST(cuMemCreate(&handle, desc.size, &prop, 0));
  SAW(CUDA_SUCCESS, cuMemExportToShareableHandle(&desc.handle.fd, handle, type, 0));
  SAW(CUDA_SUCCESS, cuImportExternalMemory(&memory, &desc));
  SAW(CUDA_SUCCESS, cuMemRelease(handle));
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC whole = {}, tail = {};
  whole.size = desc.size;
  tail.offset = tail.size = chunk;
  CUdeviceptr all = 0, end = 0;
  SAW(CUDA_SUCCESS, cuExternalMemoryGetMappedBuffer(&all, memory, &whole));
  SAW(CUDA_SUCCESS, cuExternalMemoryGetMappedBuffer(&end, memory, &tail));
  unsigned char byte = 0;
  SAW(CUDA_SUCCESS, cuMemsetD8(end, 42, chunk));
  SAW(CUDA_SUCCESS, cuMemcpyDtoH(&byte, all + chunk, 1));
  if (byte != 42) ++bug::differences;
  SAW(CUDA_SUCCESS, cuDestroyExternalMemory(memory));
  SAW(CUDA_SUCCESS, cuMemFree(end));
  SAW(CUDA_SUCCESS, cuMemFree(all));
}

// A graph frees the memory that it allocates, and is launched again: each launch allocates it anew,
// at one address. Two branches of the graph use it, and the free waits for both.
void graph_with_memory_of_its_own() {
  CUstream stream = nullptr;
  CUcontext context = nullptr;
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  CUgraphNode allocation = nullptr, fills[2] = {}, free = nullptr;
  CUDA_MEM_ALLOC_NODE_PARAMS memory = {};
  memory.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  memory.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  memory.bytesize = chunk;
  MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  MUST(cuCtxGetCurrent(&context));
  MUST(cuGraphCreate(&graph, 0));
  MUST(cuGraphAddMemAllocNode(&allocation, graph, nullptr, 0, &memory));
  for (std::size_t i = 0; i < 2; ++i) {
    CUDA_MEMSET_NODE_PARAMS fill = {};
    fill.dst = memory.dptr + i * chunk / 2;
    fill.value = 42;
    fill.elementSize = 1;
    fill.width = chunk / 2;
    fill.height = 1;
    MUST(cuGraphAddMemsetNode(&fills[i], graph, &allocation, 1, &fill, context));
  }
  MUST(cuGraphAddMemFreeNode(&free, graph, fills, 2, memory.dptr));
  SAW(CUDA_SUCCESS, cuGraphInstantiate(&executable, graph, 0));
  for (int i = 0; i < 2; ++i) {
    SAW(CUDA_SUCCESS, cuGraphLaunch(executable, stream));
    SAW(CUDA_SUCCESS, cuStreamSynchronize(stream));
  }
  SAW(CUDA_SUCCESS, cuGraphExecDestroy(executable));
  SAW(CUDA_SUCCESS, cuStreamDestroy(stream));
}

}  // namespace

int main() {
  chunk = bug::start();
  retain_then_release_twice();
  grow_and_unmap_at_once();
  map_twice();
  external_memory();
  graph_with_memory_of_its_own();
  std::thread(without_a_context).join();
  return bug::verdict();
}
