// SPDX-License-Identifier: Apache-2.0
// Legal use of pools of managed memory (CUDA 13.0): every device and the CPU touch the memory,
// whatever its preferred place is. cuvmm must stay silent. The program runs only where
// CUVMM_EXAMPLE_MANAGED=1 says that the driver is the emulator, because managed memory may disturb
// a shared GPU.
//
// expects: nothing
#include "examples/bugs/bug.h"

namespace {

constexpr std::size_t size = 4096;

// type: 0 nowhere, 1 a device, 2 the host, 3 a NUMA node of the host
void use_pool(int type) {
  CUmemPoolProps props = {};
  props.allocType = static_cast<CUmemAllocationType>(2);  // MANAGED, which older headers lack
  props.location.type = static_cast<CUmemLocationType>(type);
  CUmemoryPool pool = nullptr;
  CUdeviceptr memory = 0;
  unsigned char byte = 0;
  MUST(cuMemPoolCreate(&pool, &props));
  MUST(cuMemAllocFromPoolAsync(&memory, size, pool, nullptr));
  *reinterpret_cast<volatile unsigned char*>(memory) = 41;
  SAW(CUDA_SUCCESS, cuMemsetD8(memory + 1, 42, size - 1));
  SAW(CUDA_SUCCESS, cuMemcpyDtoH(&byte, memory, 1));
  if (byte != 41) ++bug::differences;
  int devices = 0;
  MUST(cuDeviceGetCount(&devices));
  if (devices > 1) {
    CUcontext other = nullptr;
    MUST(cuDevicePrimaryCtxRetain(&other, 1));
    MUST(cuCtxPushCurrent(other));
    SAW(CUDA_SUCCESS, cuMemsetD8(memory, 43, size));
    SAW(CUDA_SUCCESS, cuMemcpyDtoD(memory, memory + size / 2, size / 2));
    MUST(cuCtxPopCurrent(&other));
  }
  // cuda-core takes access away from all devices before it destroys a pool.
  CUmemAccessDesc none = bug::access_from(0);
  none.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  SAW(CUDA_SUCCESS, cuMemPoolSetAccess(pool, &none, 1));
  SAW(CUDA_SUCCESS, cuMemsetD8(memory, 44, size));
  SAW(CUDA_SUCCESS, cuMemFreeAsync(memory, nullptr));
  SAW(CUDA_SUCCESS, cuMemPoolDestroy(pool));
}

}  // namespace

int main() {
  const char* allowed = std::getenv("CUVMM_EXAMPLE_MANAGED");
  if (allowed == nullptr || *allowed != '1')
    bug::skip("managed memory, without CUVMM_EXAMPLE_MANAGED=1");
  bug::start();
  for (int type = 0; type <= 3; ++type) use_pool(type);
  return bug::verdict();
}
