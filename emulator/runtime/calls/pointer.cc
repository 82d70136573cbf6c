// SPDX-License-Identifier: Apache-2.0
// cudaPointerGetAttributes.
#include <cstring>
#include <iterator>

#include "emulator/runtime/abi.h"
#include "emulator/runtime/calls/call.h"
#include "emulator/runtime/version.h"

namespace cuvmm::runtime {

namespace {

constexpr std::size_t kReservedBytes = kMajor == 12 ? 0 : 8 * sizeof(long);
constexpr int kUnregistered = 0, kManaged = 3;

}  // namespace

CUVMM_RUNTIME_CALL(cudaPointerGetAttributes, (out, pointer), PointerAttributes* out,
                   const void* pointer) {
  if (!out) return cudaErrorInvalidValue;
  std::memset(static_cast<void*>(out), 0, sizeof *out + kReservedBytes);
  unsigned type = kUnregistered;  // CUmemorytype has equal numbers: 1 is host, 2 is device
  int managed = 0;
  CUpointer_attribute attributes[] = {
      CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
      CU_POINTER_ATTRIBUTE_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_HOST_POINTER,
      CU_POINTER_ATTRIBUTE_IS_MANAGED};
  void* values[] = {&type, &out->device, &out->device_pointer, &out->host_pointer, &managed};
  const Error error = ask(driver.cuPointerGetAttributes, std::size(attributes), attributes, values,
                          reinterpret_cast<CUdeviceptr>(pointer));
  out->type = managed ? kManaged : static_cast<int>(type);
  return error;
}

}  // namespace cuvmm::runtime
