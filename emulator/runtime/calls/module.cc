// SPDX-License-Identifier: Apache-2.0
// The functions that nvcc's start-up code calls before main, and those that find a device's
// variables.
#include "emulator/runtime/calls/call.h"
#include "emulator/runtime/registered.h"

namespace cuvmm::runtime {

// A name comes twice: the kernel's, as the host and as the device has it.
CUVMM_EXPORT(void**, __cudaRegisterFatBinary, const void* wrapper) {
  return register_binary(wrapper);
}
CUVMM_EXPORT(void, __cudaRegisterFatBinaryEnd) {}
CUVMM_EXPORT(void, __cudaUnregisterFatBinary, void** binary) { unregister_binary(binary); }
CUVMM_EXPORT(void, __cudaRegisterFunction, void** binary, const void* function, const char*,
             const char* name) {
  register_function(binary, function, name);
}
CUVMM_EXPORT(void, __cudaRegisterVar, void** binary, const void* variable, const char*,
             const char* name) {
  register_variable(binary, variable, name);
}
CUVMM_EXPORT(void, __cudaRegisterManagedVar, void** binary, void** pointer, const char*,
             const char* name) {
  register_managed(binary, pointer, name);
}
CUVMM_EXPORT(void, __cudaRegisterHostVar) {}
CUVMM_EXPORT(char, __cudaInitModule, void** binary) {
  return in_context(Streams::kLegacy, [&](const Driver& driver) {
           return place_managed(driver, binary);
         }) == cudaSuccess;
}

CUVMM_RUNTIME_CALL(cudaGetSymbolAddress, (pointer, symbol), void** pointer, const void* symbol) {
  if (!pointer) return cudaErrorInvalidValue;
  return find_variable(driver, symbol, reinterpret_cast<CUdeviceptr*>(pointer), nullptr);
}
CUVMM_RUNTIME_CALL(cudaGetSymbolSize, (size, symbol), std::size_t* size, const void* symbol) {
  return size ? find_variable(driver, symbol, nullptr, size) : cudaErrorInvalidValue;
}

}  // namespace cuvmm::runtime
