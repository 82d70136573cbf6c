// SPDX-License-Identifier: Apache-2.0
// Field bugs 94 and 95: TensorRT-LLM pull request 4952, pytorch pull request 195596.
// A rank binds its memory after adding its own device, and not after all ranks have added theirs.
// The bind waits for the rest of the team, for ever if another rank has failed. The right order is
// all devices, a barrier, the binds. The answers follow from the documentation; they were not
// measured on a GPU.
//
// expects: multicast-all-added
// needs: 2 devices
#include "examples/bugs/bug.h"

int main() {
  const std::size_t size = bug::start();
  bug::need_multicast();
  const CUmemAllocationProp memory_prop = bug::memory_on(0);
  CUmulticastObjectProp prop = {};
  prop.numDevices = 2;
  prop.size = size;
  CUmemGenericAllocationHandle object = 0, memory = 0;
  MUST(cuMulticastCreate(&object, &prop));
  MUST(cuMemCreate(&memory, size, &memory_prop, 0));
  MUST(cuMulticastAddDevice(object, 0));

  SAW(CUDA_ERROR_SYSTEM_NOT_READY, cuMulticastBindMem(object, 0, memory, 0, size, 0));

  MUST(cuMulticastAddDevice(object, 1));
  SAW(CUDA_SUCCESS, cuMulticastBindMem(object, 0, memory, 0, size, 0));
  MUST(cuMulticastUnbind(object, 0, 0, size));
  MUST(cuMemRelease(memory));
  MUST(cuMemRelease(object));
  return bug::verdict();
}
