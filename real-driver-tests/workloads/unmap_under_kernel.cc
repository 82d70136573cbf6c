// SPDX-License-Identifier: Apache-2.0
// The bug of vllm before pull request 43020, with a kernel: the program unmaps memory while a
// kernel that writes to it spins. The kernel spins until the host stops it, so the bug happens
// every time. With EARLY_UNMAP_WAITS=1 the program waits first, and nothing is wrong. Exit code 0:
// the driver answered as it must.
#include <cuda.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr const char* kKernel = R"(
.version 7.0
.target sm_75
.address_size 64
// write_late(unsigned*, unsigned const volatile*): what it reads alone is no word by which it says
// that it is done.
.visible .entry _Z10write_latePjPVKj(.param .u64 .ptr memory, .param .u64 .ptr word) {
  .reg .u64 %a<3>;
  .reg .u32 %w;
  .reg .pred %go;
  ld.param.u64 %a1, [memory];
  ld.param.u64 %a2, [word];
spin:
  ld.volatile.global.u32 %w, [%a2];
  setp.ne.u32 %go, %w, 0;
  @%go bra done;
  bra spin;
done:
  st.global.u32 [%a1], %w;
  ret;
}
)";

void must(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "unmap_under_kernel: %s answered %d\n", call, static_cast<int>(result));
  std::exit(2);
}
#define MUST(call) must(call, #call)

}  // namespace

int main() {
  const bool waits = std::getenv("EARLY_UNMAP_WAITS") != nullptr;
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  CUstream stream = nullptr;
  MUST(cuInit(0));
  MUST(cuDeviceGet(&device, 0));
  MUST(cuDevicePrimaryCtxRetain(&context, device));
  MUST(cuCtxSetCurrent(context));
  MUST(cuModuleLoadData(&module, kKernel));
  MUST(cuModuleGetFunction(&kernel, module, "_Z10write_latePjPVKj"));
  MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  void* host = nullptr;
  CUdeviceptr word = 0;
  MUST(cuMemHostAlloc(&host, sizeof(std::uint32_t), CU_MEMHOSTALLOC_DEVICEMAP));
  MUST(cuMemHostGetDevicePointer(&word, host, 0));
  auto* const go = static_cast<volatile std::uint32_t*>(host);
  *go = 0;

  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = device;
  const CUmemAccessDesc access{prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  std::size_t size = 0;
  CUdeviceptr memory = 0;
  CUmemGenericAllocationHandle handle = 0;
  MUST(cuMemGetAllocationGranularity(&size, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  MUST(cuMemAddressReserve(&memory, size, 0, 0, 0));
  MUST(cuMemCreate(&handle, size, &prop, 0));
  MUST(cuMemMap(memory, size, 0, handle, 0));
  MUST(cuMemSetAccess(memory, size, &access, 1));

  void* arguments[] = {&memory, &word};
  MUST(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr));
  if (waits) {
    *go = 1;
    MUST(cuStreamSynchronize(stream));
  }
  MUST(cuMemUnmap(memory, size));
  MUST(cuMemRelease(handle));
  MUST(cuMemAddressFree(memory, size));
  *go = 1;
  const CUresult end = cuStreamSynchronize(stream);
  std::printf("the kernel ended with %d\n", static_cast<int>(end));
  std::fflush(stdout);
  // After a fault, no destructor can free its object.
  std::_Exit(end == (waits ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS) ? 0 : 1);
}
