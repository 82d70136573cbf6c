// SPDX-License-Identifier: Apache-2.0
// Maps memory, uses it and frees it. grow [--device N] [--twice]: with --twice, the program frees
// the memory twice.
#include <cuda.h>
#include <cuvmm/cuvmm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(const char* call, CUresult result) {
  if (result == CUDA_SUCCESS) return;
  fprintf(stderr, "%s: %d\n", call, (int)result);
  exit(1);
}
#define MUST(call) must(#call, call)

int main(int count, char** arguments) {
  int number = 0, twice = 0;
  for (int i = 1; i < count; ++i) {
    if (strcmp(arguments[i], "--twice") == 0) twice = 1;
    if (strcmp(arguments[i], "--device") == 0 && i + 1 < count) number = atoi(arguments[++i]);
  }
  CUdevice device;
  CUcontext context;
  MUST(cuInit(0));
  MUST(cuDeviceGet(&device, number));
  MUST(cuDevicePrimaryCtxRetain(&context, device));
  MUST(cuCtxSetCurrent(context));

  CUmemAllocationProp kind;
  memset(&kind, 0, sizeof(kind));
  kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  kind.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  kind.location.id = number;
  CUmemAccessDesc access = {kind.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  size_t size = 0;
  MUST(cuMemGetAllocationGranularity(&size, &kind, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  CUdeviceptr address = 0;
  CUmemGenericAllocationHandle handle = 0;
  MUST(cuMemAddressReserve(&address, size, 0, 0, 0));
  cuvmm_name_range((const void*)address, size, "the buffer");  // findings use this name
  MUST(cuMemCreate(&handle, size, &kind, 0));
  MUST(cuMemMap(address, size, 0, handle, 0));
  MUST(cuMemSetAccess(address, size, &access, 1));
  MUST(cuMemsetD8(address, 7, size));
  MUST(cuMemUnmap(address, size));
  MUST(cuMemRelease(handle));
  if (twice) cuMemRelease(handle);  // the driver's answer is not looked at either
  MUST(cuMemAddressFree(address, size));
  MUST(cuDevicePrimaryCtxRelease(device));
  puts("grown and given back");
  return 0;
}
