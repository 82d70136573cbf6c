// SPDX-License-Identifier: Apache-2.0
// Field bug 118: cuda-samples issues 258 and 27.
// The program chooses the type of an imported memory by the names of the semaphore family. The
// numbers are equal for the first types, so the mistake stays unnoticed; for the other types the
// driver says only that a value is wrong. The real code was in a test of Vulkan's handle bits.
//
// expects: cuImportExternalMemory-type-known
// expects: cuMemExportToShareableHandle-fd-closed
#include "examples/bugs/bug.h"

int main() {
  const std::size_t size = bug::start();
  const CUmemAllocationHandleType type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  const CUmemAllocationProp prop = bug::memory_on(0, type);
  CUmemGenericAllocationHandle handle = 0;
  CUexternalMemory memory = nullptr;
  int fd = -1;
  MUST(cuMemCreate(&handle, size, &prop, 0));
  MUST(cuMemExportToShareableHandle(&fd, handle, type, 0));
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = {};
  desc.type = static_cast<CUexternalMemoryHandleType>(
      CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_WIN32);
  desc.handle.fd = fd;
  desc.size = size;

  SAW(CUDA_ERROR_INVALID_VALUE, cuImportExternalMemory(&memory, &desc));
  // A refused import takes no descriptor: the program still has to close it.

  MUST(cuMemRelease(handle));
  return bug::verdict();
}
