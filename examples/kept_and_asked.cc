// SPDX-License-Identifier: Apache-2.0
// Legal programs that look like bugs until they end: they use the objects that they keep, they ask
// questions that may have no answer, and they try calls that they can do without. cuvmm must stay
// silent on all of them.
//
// expects: nothing
#include "examples/bugs/bug.h"

namespace {

std::size_t chunk = 0;

CUdeviceptr reserve(std::size_t size) {
  CUdeviceptr address = 0;
  MUST(cuMemAddressReserve(&address, size, 0, 0, 0));
  return address;
}

CUmemGenericAllocationHandle create(unsigned handle_types = 0) {
  const auto types = static_cast<CUmemAllocationHandleType>(handle_types);
  const CUmemAllocationProp prop = bug::memory_on(0, types);
  CUmemGenericAllocationHandle handle = 0;
  MUST(cuMemCreate(&handle, chunk, &prop, 0));
  return handle;
}

// PyTorch's expandable segments keep the descriptor of a shared segment for the next request.
void keep_a_descriptor_of_mapped_memory() {
  const CUdeviceptr address = reserve(chunk);
  const auto type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  const CUmemGenericAllocationHandle handle = create(type);
  int fd = -1;
  SAW(CUDA_SUCCESS, cuMemMap(address, chunk, 0, handle, 0));
  SAW(CUDA_SUCCESS, cuMemExportToShareableHandle(&fd, handle, type, 0));
}

// torch_memory_saver and vLLM's sleep mode release the memory and keep its addresses for later.
void sleep() {
  constexpr int kBuffers = 4;
  CUdeviceptr addresses[kBuffers];
  for (CUdeviceptr& address : addresses) {
    address = reserve(chunk);
    const CUmemGenericAllocationHandle handle = create();
    SAW(CUDA_SUCCESS, cuMemMap(address, chunk, 0, handle, 0));
    SAW(CUDA_SUCCESS, cuMemRelease(handle));
  }
  for (const CUdeviceptr address : addresses) SAW(CUDA_SUCCESS, cuMemUnmap(address, chunk));
}

// UCX tests every pointer for memory of cuMemCreate.
void ask_of_plain_memory() {
  CUdeviceptr plain = 0;
  CUmemGenericAllocationHandle handle = 0;
  MUST(cuMemAlloc(&plain, chunk));
  SAW(CUDA_ERROR_INVALID_VALUE,
      cuMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(plain)));
  SAW(CUDA_SUCCESS, cuMemFree(plain));
}

// PyTorch and vLLM try a FABRIC handle first, and fall back to a descriptor on machines without a
// fabric.
void try_fabric_first() {
  constexpr auto kFabric = static_cast<CUmemAllocationHandleType>(8);
  const CUmemAllocationProp prop = bug::memory_on(0, kFabric);
  CUmemGenericAllocationHandle handle = 0;
  if (cuMemCreate(&handle, chunk, &prop, 0) != CUDA_SUCCESS) {
    handle = create(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  }
  SAW(CUDA_SUCCESS, cuMemRelease(handle));
}

}  // namespace

int main() {
  chunk = bug::start();
  ask_of_plain_memory();
  try_fabric_first();
  sleep();
  keep_a_descriptor_of_mapped_memory();
  return bug::verdict();
}
