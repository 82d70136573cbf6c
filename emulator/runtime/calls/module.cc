// SPDX-License-Identifier: Apache-2.0
// The functions that nvcc's start-up code calls before main. They record no kernel and no variable,
// so that a program starts (launch.cc has the launches).
#include "emulator/runtime/calls/call.h"

namespace cuvmm::runtime {

namespace {
void* g_no_binary = nullptr;
}

CUVMM_EXPORT(void**, __cudaRegisterFatBinary) { return &g_no_binary; }
CUVMM_EXPORT(void, __cudaRegisterFatBinaryEnd) {}
CUVMM_EXPORT(void, __cudaUnregisterFatBinary) {}
CUVMM_EXPORT(void, __cudaRegisterFunction) {}
CUVMM_EXPORT(void, __cudaRegisterVar) {}
CUVMM_EXPORT(void, __cudaRegisterManagedVar) {}
CUVMM_EXPORT(void, __cudaRegisterHostVar) {}
CUVMM_EXPORT(char, __cudaInitModule) { return 0; }

}  // namespace cuvmm::runtime
