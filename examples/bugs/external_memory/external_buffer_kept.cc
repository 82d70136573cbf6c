// SPDX-License-Identifier: Apache-2.0
// Field bug 119: HAMi-core issues 321 and 257.
// A library between the program and the driver refuses to pass cuMemFree on for an address that
// it did not hand out: the buffer that cuExternalMemoryGetMappedBuffer returned. The program goes
// on and destroys the external memory, which frees no buffer: the memory stays taken.
//
// expects: cuExternalMemoryGetMappedBuffer-freed
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
  MUST(cuMemRelease(handle));
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = {};
  desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
  desc.handle.fd = fd;
  desc.size = size;
  MUST(cuImportExternalMemory(&memory, &desc));
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer = {};
  buffer.size = size;

  SAW(CUDA_SUCCESS, cuExternalMemoryGetMappedBuffer(&address, memory, &buffer));
  SAW(CUDA_SUCCESS, cuMemsetD8(address, 0, size));
  // The program called cuMemFree(address) here, and the call never reached the driver.
  SAW(CUDA_SUCCESS, cuDestroyExternalMemory(memory));
  return bug::verdict();
}
