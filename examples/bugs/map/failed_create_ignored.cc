// SPDX-License-Identifier: Apache-2.0
// Field bug 13: vllm-project/vllm pull request 12981.
// cuMemCreate fails, the program prints the failure and goes on: it maps a handle that was never
// written, sets access without a mapping, and copies into it. vLLM's users saw the error of a later
// call and a crash. A value that is no handle crashes this driver, so this program only survives
// under `cuvmm run --enforce`.
//
// needs: enforce
// expects: cuMemMap-handle-valid
// expects: cuMemSetAccess-mapped
// expects: data-mapped
#include "examples/bugs/bug.h"

int main() {
  const std::size_t size = bug::start();
  const std::size_t too_much = std::size_t{1} << 40;
  const CUmemAllocationProp prop = bug::memory_on(0);
  const CUmemAccessDesc access = bug::access_from(0);
  CUdeviceptr address = 0;
  // A value that the uninitialised variable may have had.
  CUmemGenericAllocationHandle handle = 0x1234;
  const char text[] = "weights";
  MUST(cuMemAddressReserve(&address, size, 0, 0, 0));

  SAW(CUDA_ERROR_OUT_OF_MEMORY, cuMemCreate(&handle, too_much, &prop, 0));  // only printed
  REFUSED(cuMemMap(address, size, 0, handle, 0));
  REFUSED(cuMemSetAccess(address, size, &access, 1));
  REFUSED(cuMemcpyHtoD(address, text, sizeof(text)));

  MUST(cuMemAddressFree(address, size));
  return bug::verdict();
}
