// SPDX-License-Identifier: Apache-2.0
// vllm-project/vllm#35612: a macro notes the result of each driver call in one variable, and nobody
// clears it. The question for an attribute that this driver does not know is refused, which would
// not matter; but the next function looks at the variable after its own call, believes that it
// failed, skips cuMemMap and reports "invalid argument" there. The memory it made is lost.
// cuvmm finds what is lost. That cuDeviceGetAttribute was refused first stands among the refusals
// (docs/findings.md): the driver's log tells of it.
//
// expects: cuMemCreate-released
#include "examples/bugs/bug.h"

namespace {

CUresult remembered = CUDA_SUCCESS;

void check(CUresult result) {
  if (result != CUDA_SUCCESS) remembered = result;
}

bool supports_something_newer() {
  const auto newer = static_cast<CUdevice_attribute>(9999);
  int value = 0;
  check(SAW(CUDA_ERROR_INVALID_VALUE, cuDeviceGetAttribute(&value, newer, 0)));
  return value != 0;
}

void create_and_map(CUdeviceptr address, std::size_t size) {
  const CUmemAllocationProp prop = bug::memory_on(0);
  CUmemGenericAllocationHandle handle = 0;
  check(SAW(CUDA_SUCCESS, cuMemCreate(&handle, size, &prop, 0)));
  if (remembered != CUDA_SUCCESS) {
    std::printf("CUDA error in create_and_map: %s\n", bug::name(remembered));
    return;
  }
  check(SAW(CUDA_SUCCESS, cuMemMap(address, size, 0, handle, 0)));
  check(SAW(CUDA_SUCCESS, cuMemRelease(handle)));
}

}  // namespace

int main() {
  const std::size_t size = bug::start();
  CUdeviceptr address = 0;
  MUST(cuMemAddressReserve(&address, size, 0, 0, 0));
  (void)supports_something_newer();
  create_and_map(address, size);
  MUST(cuMemAddressFree(address, size));
  return bug::verdict();
}
