// SPDX-License-Identifier: Apache-2.0
// Field bug 67: NVIDIA/TensorRT-LLM pull request 15302.
// To test whether sharing works, the program creates memory, exports it, and imports it back into
// the same variable. The import is a new handle with a reference of its own; it overwrites the
// created handle, whose reference can never be released.
//
// expects: cuMemCreate-released
#include <unistd.h>

#include <cstdint>

#include "examples/bugs/bug.h"

int main() {
  const std::size_t size = bug::start();
  const CUmemAllocationHandleType type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  const CUmemAllocationProp prop = bug::memory_on(0, type);
  CUmemGenericAllocationHandle handle = 0;
  int fd = -1;
  MUST(cuMemCreate(&handle, size, &prop, 0));
  SAW(CUDA_SUCCESS, cuMemExportToShareableHandle(&fd, handle, type, 0));
  void* shared = reinterpret_cast<void*>(static_cast<std::intptr_t>(fd));

  SAW(CUDA_SUCCESS, cuMemImportFromShareableHandle(&handle, shared, type));

  SAW(CUDA_SUCCESS, cuMemRelease(handle));  // the import
  close(fd);
  return bug::verdict();
}
