// SPDX-License-Identifier: Apache-2.0
// Field bug 98: pytorch issue 162429, mscclpp pull request 567, NCCL issue 2115.
// The buffer goes first, and its binding with it: the unbind that follows finds nothing and fails.
// Callers ignore the answer, or stop at it.
// No GPU was asked: the answers are those that the documentation implies.
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
