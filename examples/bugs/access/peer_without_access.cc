// SPDX-License-Identifier: Apache-2.0
// Field bugs 31 and 34: ggml-org/llama.cpp pull requests 24491 and 4606 (bugs 32, 33 and 35 are the
// same in XLA, FBGEMM and DALI).
// Each device's pool is accessible to that device alone. Peer access between contexts, which
// cudaMalloc's memory would follow, does not apply to mapped memory: a copy that the first device
// makes from the second one's pool is refused, and a kernel or NCCL faults or hangs.
//
// needs: 2 devices
// expects: data-readable
#include "examples/bugs/bug.h"

namespace {

CUdeviceptr make_pool(int ordinal, std::size_t size) {
  const CUmemAllocationProp prop = bug::memory_on(ordinal);
  const CUmemAccessDesc access = bug::access_from(ordinal);  // and from no other device
  CUdeviceptr address = 0;
  CUmemGenericAllocationHandle handle = 0;
  MUST(cuMemAddressReserve(&address, size, 0, 0, 0));
  MUST(cuMemCreate(&handle, size, &prop, 0));
  MUST(cuMemMap(address, size, 0, handle, 0));
  MUST(cuMemRelease(handle));
  MUST(cuMemSetAccess(address, size, &access, 1));
  return address;
}

void free_pool(CUdeviceptr address, std::size_t size) {
  MUST(cuMemUnmap(address, size));
  MUST(cuMemAddressFree(address, size));
}

}  // namespace

int main() {
  const std::size_t size = bug::start();
  int devices = 0;
  MUST(cuDeviceGetCount(&devices));
  if (devices < 2) bug::skip("needs two devices");
  const CUdeviceptr here = make_pool(0, size);
  const CUdeviceptr there = make_pool(1, size);

  SAW(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoD(here, there, 4096));

  free_pool(there, size);
  free_pool(here, size);
  return bug::verdict();
}
