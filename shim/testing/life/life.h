// SPDX-License-Identifier: Apache-2.0
// The common parts of the programs of this folder: a legal cycle, a misuse, a leak, and scenarios
// by name.
#pragma once

#include <cuda.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace life {

inline constexpr std::size_t kPage = std::size_t{2} << 20;

/// Ends the program with 70 if a legal call is refused. A thread that sees the driver's end waits
/// for the end of the process.
inline void must(CUresult result) {
  if (result == CUDA_SUCCESS) return;
  if (result == CUDA_ERROR_DEINITIALIZED)
    for (;;) ::pause();
  std::fprintf(stderr, "a legal call was refused: %d\n", result);
  std::_Exit(70);
}

inline void init() {
  must(cuInit(0));
  CUdevice device;
  CUcontext context;
  must(cuDeviceGet(&device, 0));
  must(cuDevicePrimaryCtxRetain(&context, device));
  must(cuCtxSetCurrent(context));
}

inline CUmemAllocationProp properties() {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  return prop;
}

/// A legal cycle, which leaves no object.
inline void cycle() {
  CUdeviceptr address = 0;
  CUmemGenericAllocationHandle handle = 0;
  const CUmemAllocationProp prop = properties();
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  must(cuMemAddressReserve(&address, kPage, 0, 0, 0));
  must(cuMemCreate(&handle, kPage, &prop, 0));
  must(cuMemMap(address, kPage, 0, handle, 0));
  must(cuMemSetAccess(address, kPage, &access, 1));
  must(cuMemUnmap(address, kPage));
  must(cuMemRelease(handle));
  must(cuMemAddressFree(address, kPage));
}

/// Causes one finding: cuMemUnmap-size-nonzero.
inline void misuse() { cuMemUnmap(0, 0); }

/// Causes one leak: cuMemCreate-released.
inline void leak() {
  CUmemGenericAllocationHandle handle = 0;
  const CUmemAllocationProp prop = properties();
  must(cuMemCreate(&handle, kPage, &prop, 0));
}

struct Scenario {
  const char* name;
  int (*run)(const char* argument);
};

/// Runs the scenario that the first argument names, with the second argument or "".
template <std::size_t N>
int run(const Scenario (&scenarios)[N], int count, char** arguments) {
  for (const Scenario& scenario : scenarios) {
    if (count > 1 && __builtin_strcmp(scenario.name, arguments[1]) == 0) {
      return scenario.run(count > 2 ? arguments[2] : "");
    }
  }
  std::fputs("no such scenario\n", stderr);
  return 97;
}

}  // namespace life
