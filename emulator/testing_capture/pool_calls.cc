// SPDX-License-Identifier: Apache-2.0
// Stream-ordered memory.
#include <unistd.h>

#include "emulator/testing_capture/scene.h"

namespace cuvmm::capture_test {

namespace {

// Allocates memory on the capturing stream, and calls kThen with it.
template <CUresult (*kThen)(Scene&, CUdeviceptr)>
CUresult captured(Scene& s) {
  CUdeviceptr memory = 0;
  const CUresult result = cuMemAllocAsync(&memory, 4096, s.capturing);
  return result == CUDA_SUCCESS ? kThen(s, memory) : result;
}

CUresult nothing(Scene&, CUdeviceptr) { return CUDA_SUCCESS; }
CUresult free_async(Scene& s, CUdeviceptr memory) { return cuMemFreeAsync(memory, s.capturing); }
CUresult fill(Scene& s, CUdeviceptr memory) {
  return cuMemsetD8Async(memory, 1, 4096, s.capturing);
}
CUresult ask(Scene&, CUdeviceptr memory) {
  int ordinal = 0;
  return cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, memory);
}
CUresult free_at_once(Scene&, CUdeviceptr memory) { return cuMemFree(memory); }
CUresult free_twice(Scene& s, CUdeviceptr memory) {
  const CUresult result = free_async(s, memory);
  return result == CUDA_SUCCESS ? free_async(s, memory) : result;
}

CUresult allocate(CUstream stream) {
  CUdeviceptr memory = 0;
  return cuMemAllocAsync(&memory, 4096, stream);
}

CUresult create(Scene&) {
  const CUmemPoolProps props = pool_properties(false);
  CUmemoryPool pool = nullptr;
  return cuMemPoolCreate(&pool, &props);
}

CUresult export_pool(Scene& s) {
  int fd = -1;
  const CUresult result =
      cuMemPoolExportToShareableHandle(&fd, s.pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  if (result == CUDA_SUCCESS) close(fd);
  return result;
}

constexpr Named kCalls[] = {
    {"cuMemAllocAsync/capturing", captured<nothing>},
    {"cuMemAllocAsync/capturing+free", captured<free_async>},
    {"cuMemAllocAsync/capturing+memset", captured<fill>},
    {"cuMemAllocAsync/capturing+attribute", captured<ask>},
    {"cuMemAllocAsync/capturing+cuMemFree", captured<free_at_once>},
    {"cuMemAllocAsync/capturing+free-twice", captured<free_twice>},
    {"cuMemAllocAsync/other", [](Scene& s) { return allocate(s.other); }},
    {"cuMemAllocAsync/legacy", [](Scene&) { return allocate(nullptr); }},
    {"cuMemAllocFromPoolAsync/capturing",
     [](Scene& s) {
       CUdeviceptr memory = 0;
       return cuMemAllocFromPoolAsync(&memory, 4096, s.pool, s.capturing);
     }},
    {"cuMemFreeAsync/capturing-uncaptured",
     [](Scene& s) { return cuMemFreeAsync(s.of_pool, s.capturing); }},
    {"cuMemFreeAsync/other-uncaptured",
     [](Scene& s) { return cuMemFreeAsync(s.of_pool, s.other); }},
    {"cuMemPoolCreate", create},
    {"cuMemPoolDestroy", [](Scene& s) { return cuMemPoolDestroy(s.to_destroy); }},
    {"cuMemPoolTrimTo", [](Scene& s) { return cuMemPoolTrimTo(s.pool, 0); }},
    {"cuMemPoolExportToShareableHandle", export_pool},
    {"cuDeviceGetMemPool",
     [](Scene&) {
       CUmemoryPool pool = nullptr;
       return cuDeviceGetMemPool(&pool, 0);
     }},
};

}  // namespace

std::span<const Named> pool_calls() { return kCalls; }

}  // namespace cuvmm::capture_test
