// SPDX-License-Identifier: Apache-2.0
// An allocator for PyTorch (torch.cuda.memory.CUDAPluggableAllocator). Each tensor is a reservation
// with one mapping, which the allocator unmaps as soon as Python frees the tensor. With
// EARLY_UNMAP_WAITS=1 the allocator waits before that, as cudaFree does and cuMemUnmap does not.
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>

namespace {

struct Block {
  std::size_t size = 0;
  CUmemGenericAllocationHandle handle = 0;
};
std::mutex g_mutex;
std::map<CUdeviceptr, Block> g_blocks;

void must(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "early_unmap: %s answered %d\n", call, static_cast<int>(result));
  std::abort();
}

}  // namespace

extern "C" [[gnu::visibility("default")]] void* early_malloc(std::ptrdiff_t bytes, int device,
                                                             CUstream) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = device;
  std::size_t granularity = 0;
  must(cuMemGetAllocationGranularity(&granularity, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
       "cuMemGetAllocationGranularity");
  Block block;
  const auto wanted = static_cast<std::size_t>(bytes > 0 ? bytes : 1);
  block.size = (wanted + granularity - 1) / granularity * granularity;
  CUdeviceptr address = 0;
  must(cuMemAddressReserve(&address, block.size, 0, 0, 0), "cuMemAddressReserve");
  must(cuMemCreate(&block.handle, block.size, &prop, 0), "cuMemCreate");
  must(cuMemMap(address, block.size, 0, block.handle, 0), "cuMemMap");
  const CUmemAccessDesc access{prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  must(cuMemSetAccess(address, block.size, &access, 1), "cuMemSetAccess");
  const std::lock_guard lock(g_mutex);
  g_blocks[address] = block;
  return reinterpret_cast<void*>(address);
}

extern "C" [[gnu::visibility("default")]] void early_free(void* pointer, std::ptrdiff_t, int,
                                                          CUstream) {
  const auto address = reinterpret_cast<CUdeviceptr>(pointer);
  Block block;
  {
    const std::lock_guard lock(g_mutex);
    const auto found = g_blocks.find(address);
    if (found == g_blocks.end()) return;
    block = found->second;
    g_blocks.erase(found);
  }
  if (std::getenv("EARLY_UNMAP_WAITS")) must(cuCtxSynchronize(), "cuCtxSynchronize");
  must(cuMemUnmap(address, block.size), "cuMemUnmap");
  must(cuMemRelease(block.handle), "cuMemRelease");
  must(cuMemAddressFree(address, block.size), "cuMemAddressFree");
}
