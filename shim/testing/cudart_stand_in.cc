// SPDX-License-Identifier: Apache-2.0
// Does what NVIDIA's libcudart does at start-up (measured with CUDA 13.0): dlopen, one
// dlsym, the empty query, cuInit, cuGetProcAddress itself in both ABIs, then everything by version.
// Built as a shared library, as libcudart.so.12 and .13 with their symbol versions, and as a static
// one.
#include <dlfcn.h>

#include "shim/testing/misuse.h"
#include "shim/testing/runtime_twins.h"

#undef cuGetProcAddress

namespace {
using AskV2 = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);
AskV2 g_ask = nullptr;

void* ask(const char* name, int version, cuuint64_t flags) {
  void* function = nullptr;
  g_ask(name, &function, version, flags, nullptr);
  return function;
}
}  // namespace

/// cudaGetDriverEntryPointByVersion, as NCCL uses it to reach the VMM API.
extern "C" __attribute__((visibility("default"))) void* standInEntryPoint(const char* name,
                                                                          int version) {
  if (!g_ask) {
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    require(library != nullptr, "libcuda.so.1");
    g_ask = reinterpret_cast<AskV2>(dlsym(library, "cuGetProcAddress_v2"));
    require(g_ask != nullptr, "cuGetProcAddress_v2");
    require(ask("", 0, 0) == nullptr, "the empty query");
    require(ask("cuInit", 2000, 0) != nullptr, "cuInit");
    require(ask("cuGetProcAddress", 11030, 0) != ask("cuGetProcAddress", 12000, 0),
            "two ABIs of cuGetProcAddress");
    g_ask = reinterpret_cast<AskV2>(ask("cuGetProcAddress", 12000, 0));
    // The runtime fetches both stream flavours of this name.
    ask("cuMemcpyAsync", 4000, 0);
    ask("cuMemcpyAsync", 7000, 2);
  }
  return ask(name, version, 0);
}

#pragma GCC visibility push(default)

/// This function makes the wrong call of the driver: a map, because every driver table has it.
extern "C" int cudaDestroyExternalMemory(void*) {
  misuse(reinterpret_cast<MapFunction>(standInEntryPoint("cuMemMap", 10020)));
  return 0;
}

/// Makes the wrong call as well, in a function that the shim does not wrap.
extern "C" int cudaFree(void*) {
  misuse(reinterpret_cast<MapFunction>(standInEntryPoint("cuMemMap", 10020)));
  return 0;
}

extern "C" int cudaIpcOpenMemHandle(void** pointer, RuntimeIpcHandle handle, unsigned flags) {
  *pointer = &g_ask;
  return by_value_sum(handle) + static_cast<int>(flags);
}

extern "C" int cudaIpcCloseMemHandle(void*) { return STAND_IN_MAJOR; }
