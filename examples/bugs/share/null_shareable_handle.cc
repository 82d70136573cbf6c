// SPDX-License-Identifier: Apache-2.0
// Field bug 79: NVIDIA/cuda-python issue 27.
// The binding passed no place for the exported descriptor, so every export failed.
//
// expects: cuMemExportToShareableHandle-shareableHandle-nonnull
#include "examples/bugs/bug.h"

int main() {
  const std::size_t size = bug::start();
  const CUmemAllocationHandleType type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  const CUmemAllocationProp prop = bug::memory_on(0, type);
  CUmemGenericAllocationHandle handle = 0;
  MUST(cuMemCreate(&handle, size, &prop, 0));

  SAW(CUDA_ERROR_INVALID_VALUE, cuMemExportToShareableHandle(nullptr, handle, type, 0));

  MUST(cuMemRelease(handle));
  return bug::verdict();
}
