// SPDX-License-Identifier: Apache-2.0
// Field bug 6: mscclpp pull request 535.
// The program ends a connection's memory and mapping, but forgets the handle of the multicast
// object. The handle must be released like that of memory; a fabric has few multicast groups. The
// answers follow from the documentation; they were not measured on a GPU.
//
// expects: cuMulticastCreate-released
// needs: 2 devices
#include "examples/bugs/bug.h"

int main() {
  const std::size_t size = bug::start();
  bug::need_multicast();
  const CUmemAllocationProp memory_prop = bug::memory_on(0);
  const CUmemAccessDesc access = bug::access_from(0);
  CUmulticastObjectProp prop = {};
  prop.numDevices = 1;
  prop.size = size;
  CUmemGenericAllocationHandle object = 0, memory = 0;
  CUdeviceptr address = 0;
  MUST(cuMulticastCreate(&object, &prop));
  MUST(cuMulticastAddDevice(object, 0));
  MUST(cuMemCreate(&memory, size, &memory_prop, 0));
  MUST(cuMulticastBindMem(object, 0, memory, 0, size, 0));
  MUST(cuMemAddressReserve(&address, size, 0, 0, 0));
  MUST(cuMemMap(address, size, 0, object, 0));
  MUST(cuMemSetAccess(address, size, &access, 1));

  SAW(CUDA_SUCCESS, cuMulticastUnbind(object, 0, 0, size));
  SAW(CUDA_SUCCESS, cuMemUnmap(address, size));
  SAW(CUDA_SUCCESS, cuMemAddressFree(address, size));
  SAW(CUDA_SUCCESS, cuMemRelease(memory));
  return bug::verdict();
}
