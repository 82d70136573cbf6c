// SPDX-License-Identifier: Apache-2.0
/* A C program linked with -lcuda, as <cuda.h> maps its calls: reserve to free, and a copy. */
#include <cuda.h>
#include <stdio.h>

#define CHECK(call)                                     \
  do {                                                  \
    CUresult result = (call);                           \
    if (result != CUDA_SUCCESS) {                       \
      const char* name = "?";                           \
      cuGetErrorName(result, &name);                    \
      fprintf(stderr, "line %d: %s\n", __LINE__, name); \
      return 1;                                         \
    }                                                   \
  } while (0)

int main(void) {
  CUcontext context;
  CUdeviceptr address;
  CUmemGenericAllocationHandle handle;
  CUmemAllocationProp prop = {0};
  CUmemAccessDesc desc = {0};
  size_t size = 0;
  int out = 0;
  const int in = 4711;
  CHECK(cuInit(0));
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuCtxSetCurrent(context));
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CHECK(cuMemGetAllocationGranularity(&size, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  CHECK(cuMemAddressReserve(&address, size, 0, 0, 0));
  CHECK(cuMemCreate(&handle, size, &prop, 0));
  CHECK(cuMemMap(address, size, 0, handle, 0));
  CHECK(cuMemRelease(handle));
  desc.location = prop.location;
  desc.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CHECK(cuMemSetAccess(address, size, &desc, 1));
  CHECK(cuMemcpyHtoD(address + 8, &in, sizeof in));
  CHECK(cuMemcpyDtoH(&out, address + 8, sizeof out));
  CHECK(cuCtxSynchronize());
  CHECK(cuMemUnmap(address, size));
  CHECK(cuMemAddressFree(address, size));
  CHECK(cuDevicePrimaryCtxRelease(0));
  return out == in ? 0 : 2;
}
