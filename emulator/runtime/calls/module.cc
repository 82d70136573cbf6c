// SPDX-License-Identifier: Apache-2.0
// The functions that nvcc's start-up code calls before main. They record of kernels only which code
// they have, and no variable, so that a program starts (launch.cc has the launches).
#include "emulator/runtime/calls/call.h"
#include "emulator/runtime/registered.h"

namespace cuvmm::runtime {

CUVMM_EXPORT(void**, __cudaRegisterFatBinary, const void* wrapper) {
  return register_binary(wrapper);
}
CUVMM_EXPORT(void, __cudaRegisterFatBinaryEnd) {}
CUVMM_EXPORT(void, __cudaUnregisterFatBinary) {}
CUVMM_EXPORT(void, __cudaRegisterFunction, void** binary, const void* function) {
  register_function(binary, function);
}
CUVMM_EXPORT(void, __cudaRegisterVar) {}
CUVMM_EXPORT(void, __cudaRegisterManagedVar) {}
CUVMM_EXPORT(void, __cudaRegisterHostVar) {}
CUVMM_EXPORT(char, __cudaInitModule) { return 0; }

}  // namespace cuvmm::runtime
