// SPDX-License-Identifier: Apache-2.0
// The driver crash that hip-tests' negative tests of hipDestroyExternalMemory expect as
// INVALID_VALUE: a clean-up path destroys the external memory, and the destructor that runs
// afterwards does it again. In between a buffer of it is still written to. This driver dies in the
// second cuDestroyExternalMemory, so this program only survives under `cuvmm run --enforce`.
//
// needs: enforce
// expects: data-external-memory-alive
// expects: cuDestroyExternalMemory-once
#include "examples/bugs/bug.h"

int main() {
  const std::size_t size = bug::start();
  const CUmemAllocationHandleType type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  const CUmemAllocationProp prop = bug::memory_on(0, type);
  CUmemGenericAllocationHandle handle = 0;
  CUexternalMemory memory = nullptr;
  CUdeviceptr address = 0;
  int fd = -1;
  MUST(cuMemCreate(&handle, size, &prop, 0));
  MUST(cuMemExportToShareableHandle(&fd, handle, type, 0));
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = {};
  desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
  desc.handle.fd = fd;
  desc.size = size;
  MUST(cuImportExternalMemory(&memory, &desc));
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer = {};
  buffer.size = size;
  MUST(cuExternalMemoryGetMappedBuffer(&address, memory, &buffer));

  SAW(CUDA_SUCCESS, cuDestroyExternalMemory(memory));
  REFUSED(cuMemsetD8(address, 0, size));
  REFUSED(cuDestroyExternalMemory(memory));

  MUST(cuMemFree(address));
  MUST(cuMemRelease(handle));
  return bug::verdict();
}
