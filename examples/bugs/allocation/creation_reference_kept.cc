// SPDX-License-Identifier: Apache-2.0
// Field bug 1: NVIDIA/cuda-python pull request 2884 (issue 2882), VirtualMemoryResource.
// Closing a buffer looks its allocation up by address, which adds a reference, and releases only
// that reference. The reference of cuMemCreate is never released: the memory stays taken until
// exit, although it has no mapping and no call ever fails. On an H100, 64 buffers of 64 MiB kept 4
// GiB.
//
// expects: cuMemCreate-released
#include "examples/bugs/bug.h"

namespace {

struct Buffer {
  CUdeviceptr address = 0;
  std::size_t size = 0;
};

Buffer allocate(std::size_t size) {
  Buffer buffer{0, size};
  const CUmemAllocationProp prop = bug::memory_on(0);
  const CUmemAccessDesc access = bug::access_from(0);
  CUmemGenericAllocationHandle handle = 0;
  MUST(cuMemCreate(&handle, size, &prop, 0));
  MUST(cuMemAddressReserve(&buffer.address, size, 0, 0, 0));
  MUST(cuMemMap(buffer.address, size, 0, handle, 0));
  MUST(cuMemSetAccess(buffer.address, size, &access, 1));
  return buffer;  // the handle is forgotten here, but its reference stays
}

void deallocate(const Buffer& buffer) {
  CUmemGenericAllocationHandle handle = 0;
  SAW(CUDA_SUCCESS, cuMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(buffer.address)));
  SAW(CUDA_SUCCESS, cuMemUnmap(buffer.address, buffer.size));
  SAW(CUDA_SUCCESS, cuMemAddressFree(buffer.address, buffer.size));
  SAW(CUDA_SUCCESS,
      cuMemRelease(handle));  // the retained reference; the creation's reference remains
}

}  // namespace

int main() {
  const std::size_t size = 16 * bug::start();
  std::size_t free_before = 0, free_after = 0, total = 0;
  MUST(cuMemGetInfo(&free_before, &total));
  for (int i = 0; i < 4; ++i) deallocate(allocate(size));
  MUST(cuMemGetInfo(&free_after, &total));
  std::printf("every buffer is closed, and %zu bytes are still taken\n", free_before - free_after);
  return bug::verdict();
}
