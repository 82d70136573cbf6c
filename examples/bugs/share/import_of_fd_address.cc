// SPDX-License-Identifier: Apache-2.0
// Field bugs 80 and 81: ROCm/hip-tests, hipMemImportFromShareableHandle, and kvcache-ai/Mooncake
// pull request 1218.
// The program imports a file descriptor through a pointer to it, as for a fabric handle. A
// descriptor goes by value, in the bits of the pointer; the address of the variable is no
// descriptor.
//
// expects: cuMemImportFromShareableHandle-descriptor-valid
#include <unistd.h>

#include <cstdint>

#include "examples/bugs/bug.h"

int main() {
  const std::size_t size = bug::start();
  const CUmemAllocationHandleType type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  const CUmemAllocationProp prop = bug::memory_on(0, type);
  CUmemGenericAllocationHandle handle = 0, imported = 0;
  int fd = -1;
  MUST(cuMemCreate(&handle, size, &prop, 0));
  MUST(cuMemExportToShareableHandle(&fd, handle, type, 0));

  SAW(CUDA_ERROR_UNKNOWN, cuMemImportFromShareableHandle(&imported, &fd, type));

  void* by_value = reinterpret_cast<void*>(static_cast<std::intptr_t>(fd));
  SAW(CUDA_SUCCESS, cuMemImportFromShareableHandle(&imported, by_value, type));  // the repair
  MUST(cuMemRelease(imported));
  MUST(cuMemRelease(handle));
  close(fd);
  return bug::verdict();
}
