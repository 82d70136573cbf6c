// SPDX-License-Identifier: Apache-2.0
// Field bug 116: shacklettbp/madrona's CUDA-Vulkan interop, gs-madrona pull request 67.
// A successful cuImportExternalMemory takes the descriptor over: the driver closes it. The program
// closes it as well, which closes any file that has the number by then, and imports it again for
// its second consumer. The habit comes from cuMemImportFromShareableHandle, which does not take
// descriptors over.
//
// expects: cuImportExternalMemory-fd-owned
#include <unistd.h>

#include "examples/bugs/bug.h"

int main() {
  const std::size_t size = bug::start();
  const CUmemAllocationHandleType type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  const CUmemAllocationProp prop = bug::memory_on(0, type);
  CUmemGenericAllocationHandle handle = 0;
  CUexternalMemory memory = nullptr, second = nullptr;
  int fd = -1;
  MUST(cuMemCreate(&handle, size, &prop, 0));
  MUST(cuMemExportToShareableHandle(&fd, handle, type, 0));
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = {};
  desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
  desc.handle.fd = fd;
  desc.size = size;

  SAW(CUDA_SUCCESS, cuImportExternalMemory(&memory, &desc));
  std::printf("close(%d) = %d\n", fd, close(fd));  // EBADF, or the file that has the number now
  SAW(CUDA_ERROR_UNKNOWN, cuImportExternalMemory(&second, &desc));

  MUST(cuDestroyExternalMemory(memory));
  MUST(cuMemRelease(handle));
  return bug::verdict();
}
