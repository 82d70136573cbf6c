// SPDX-License-Identifier: Apache-2.0
// Field bug 98: pytorch issue 162429, mscclpp pull request 567, NCCL issue 2115.
// The program releases the buffer first, which ends its binding: the unbind that follows finds no
// binding and fails. Callers ignore the answer, or stop at it. The answers follow from the
// documentation; they were not measured on a GPU.
//
// expects: multicast-unbind-before-release
// expects: cuMulticastUnbind-bound
// needs: 2 devices
#include "examples/bugs/bug.h"

int main() {
  const std::size_t size = bug::start();
  bug::need_multicast();
  const CUmemAllocationProp memory_prop = bug::memory_on(0);
  CUmulticastObjectProp prop = {};
  prop.numDevices = 1;
  prop.size = size;
  CUmemGenericAllocationHandle object = 0, memory = 0;
  MUST(cuMulticastCreate(&object, &prop));
  MUST(cuMulticastAddDevice(object, 0));
  MUST(cuMemCreate(&memory, size, &memory_prop, 0));
  MUST(cuMulticastBindMem(object, 0, memory, 0, size, 0));

  SAW(CUDA_SUCCESS, cuMemRelease(memory));
  SAW(CUDA_ERROR_INVALID_VALUE, cuMulticastUnbind(object, 0, 0, size));

  MUST(cuMemRelease(object));
  return bug::verdict();
}
