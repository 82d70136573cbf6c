// SPDX-License-Identifier: Apache-2.0
// gs-madrona pull request 67: an imported descriptor is closed twice.
// After a successful import the driver owns the descriptor, and closes it. The program closes the
// number again. Here no file has the number; in a program with threads, a new file may have it.
//
// expects: cuImportExternalMemory-fd-owned
#include <unistd.h>

#include "examples/bugs/bug.h"

int main() {
  const std::size_t size = 16 * bug::start();
  const CUmemAllocationHandleType type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  const CUmemAllocationProp prop = bug::memory_on(0, type);
  CUmemGenericAllocationHandle handle = 0;
  int fd = -1;
  MUST(cuMemCreate(&handle, size, &prop, 0));
  MUST(cuMemExportToShareableHandle(&fd, handle, type, 0));

  CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc{};
  desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
  desc.handle.fd = fd;
  desc.size = size;
  CUexternalMemory memory = nullptr;
  MUST(cuImportExternalMemory(&memory, &desc));
  if (close(fd) != 0) std::printf("close(%d) failed: the driver has closed it\n", fd);

  MUST(cuDestroyExternalMemory(memory));
  MUST(cuMemRelease(handle));
  return bug::verdict();
}
