// SPDX-License-Identifier: Apache-2.0
// What the programs of this folder ask of the driver in the same way.
#pragma once

#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

inline void must(CUresult result) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "a legal call was refused: %d\n", result);
  std::_Exit(70);
}

// A function of the driver by its symbol: cuda.h hides those for per-thread default streams.
template <class... Args>
CUresult call(const char* symbol, Args... arguments) {
  using Function = CUresult(CUDAAPI*)(Args...);
  const auto function = reinterpret_cast<Function>(::dlsym(RTLD_DEFAULT, symbol));
  return function ? function(arguments...) : CUDA_ERROR_NOT_FOUND;
}

inline CUcontext primary() {
  CUdevice device = 0;
  CUcontext context = nullptr;
  must(cuInit(0));
  must(cuDeviceGet(&device, 0));
  must(cuDevicePrimaryCtxRetain(&context, device));
  must(cuCtxSetCurrent(context));
  return context;
}
inline CUcontext own_context() {
  CUcontext context = nullptr;
#if CUDA_VERSION >= 13000
  CUctxCreateParams params{};
  must(cuCtxCreate(&context, &params, 0, 0));
#else
  must(cuCtxCreate(&context, 0, 0));
#endif
  return context;
}
