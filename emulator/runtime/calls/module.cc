// SPDX-License-Identifier: Apache-2.0
// What nvcc's start-up code calls before main: kernels and variables are taken note of nowhere, so
// that a program starts (launch.cc has what becomes of launches).
#include "emulator/runtime/export.h"

namespace cuvmm::runtime {

namespace {
void* g_no_binary = nullptr;
}

CUVMM_RUNTIME_SYMBOL(void**, __cudaRegisterFatBinary) { return &g_no_binary; }
CUVMM_RUNTIME_SYMBOL(void, __cudaRegisterFatBinaryEnd) {}
CUVMM_RUNTIME_SYMBOL(void, __cudaUnregisterFatBinary) {}
CUVMM_RUNTIME_SYMBOL(void, __cudaRegisterFunction) {}
CUVMM_RUNTIME_SYMBOL(void, __cudaRegisterVar) {}
CUVMM_RUNTIME_SYMBOL(void, __cudaRegisterManagedVar) {}
CUVMM_RUNTIME_SYMBOL(void, __cudaRegisterHostVar) {}
CUVMM_RUNTIME_SYMBOL(char, __cudaInitModule) { return 0; }

}  // namespace cuvmm::runtime
