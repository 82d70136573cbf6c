// SPDX-License-Identifier: Apache-2.0
// A libcuda of a few functions, for tests of interception: its answers are fixed and simple.
//
// Reservations and handles count up. cuMemMap refuses a non-zero offset, and dies on the handle
// kDeadlyHandle; cuStreamSynchronize blocks, dies or fails on some streams. cuGetProcAddress hands
// out exported functions, but from CUDA 20.0 a newer ABI of cuMemMap that is not exported.
// FAKE_DRIVER_LOG names a file that gets a line for each call.
#include "shim/testing/fake_driver.h"

#include <string_view>

#include "api/multicast.h"
#include "shim/testing/introduced.h"

#pragma GCC visibility push(default)
#include <cuda.h>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#undef cuGetProcAddress

namespace {

void log(const char* what) {
  const char* path = std::getenv("FAKE_DRIVER_LOG");
  if (!path) return;
  const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) return;
  if (write(fd, what, std::strlen(what)) < 0 || write(fd, "\n", 1) < 0) std::abort();
  close(fd);
}

CUdeviceptr g_next_address = 0x700000000000;

// The ABI of a CUDA that does not exist yet: it has one parameter more.
CUresult future_map(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long,
                    int extra) {
  log("cuMemMap_future");
  return extra == 42 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

extern "C" {

CUresult cuInit(unsigned int) {
  log("cuInit");
  return CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int* version) {
  *version = 13000;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
  *count = 1;
  return CUDA_SUCCESS;
}
CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp*,
                                       CUmemAllocationGranularity_flags) {
  *granularity = kFakeGranularity;
  return CUDA_SUCCESS;
}
CUresult cuMemAddressReserve(CUdeviceptr* ptr, size_t size, size_t, CUdeviceptr,
                             unsigned long long) {
  log("cuMemAddressReserve");
  *ptr = g_next_address;
  g_next_address += size;
  return CUDA_SUCCESS;
}
CUresult cuMemAddressFree(CUdeviceptr, size_t) {
  log("cuMemAddressFree");
  return CUDA_SUCCESS;
}
CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t, const CUmemAllocationProp*,
                     unsigned long long) {
  log("cuMemCreate");
  // Real handles are addresses that can be read.
  *handle = reinterpret_cast<CUmemGenericAllocationHandle>(std::malloc(64));
  return CUDA_SUCCESS;
}
CUresult cuMemRelease(CUmemGenericAllocationHandle) {
  log("cuMemRelease");
  return CUDA_SUCCESS;
}
CUresult cuMemMap(CUdeviceptr, size_t, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long) {
  log("cuMemMap");
  if (handle == kDeadlyHandle) raise(SIGSEGV);
  return offset == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemUnmap(CUdeviceptr, size_t) {
  log("cuMemUnmap");
  return CUDA_SUCCESS;
}
// The shim does not intercept this function: its arguments, vector ones too, must arrive unchanged
// through the lazy stub.
CUresult cuTexRefSetMipmapLevelBias(CUtexref texture, float bias) {
  log("cuTexRefSetMipmapLevelBias");
  return texture == reinterpret_cast<CUtexref>(7) && bias == 0.5f ? CUDA_SUCCESS
                                                                  : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuLaunchKernel(CUfunction, unsigned a, unsigned b, unsigned c, unsigned d, unsigned e,
                        unsigned f, unsigned g, CUstream, void** params, void** extra) {
  log("cuLaunchKernel");
  const bool right = a == 1 && b == 2 && c == 3 && d == 4 && e == 5 && f == 6 && g == 7 &&
                     params == reinterpret_cast<void**>(8) && extra == reinterpret_cast<void**>(9);
  return right ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuStreamSynchronize(CUstream stream) {
  log("cuStreamSynchronize");
  const auto number = reinterpret_cast<std::uintptr_t>(stream);
  if (number == kDeadlyStream) raise(SIGKILL);
  while (number == kBlockingStream) pause();
  return number == kFaultyStream ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_SUCCESS;
}
// All functions that the shim keeps from a real driver, under their symbols: their parameters do
// not matter. The tests look for "gated-call".
#define CUVMM_MULTICAST(Name)                 \
  CUresult fake_##Name() __asm__("cu" #Name); \
  CUresult fake_##Name() {                    \
    log("gated-call");                        \
    return CUDA_SUCCESS;                      \
  }
#include "api/entry_points.def"
// A function that does not exist yet, and that no table has.
CUresult cuMulticastOfTomorrow() {
  log("gated-call");
  return CUDA_SUCCESS;
}

// Two functions about memory that no table has: one is among the driver's symbols, the other does
// not exist yet.
CUresult cuDeviceGraphMemTrim(CUdevice) {
  log("cuDeviceGraphMemTrim");
  return CUDA_SUCCESS;
}
CUresult cuMemOfTomorrow() {
  log("cuMemOfTomorrow");
  return CUDA_SUCCESS;
}

CUresult cuGetProcAddress(const char* symbol, void** pfn, int version, cuuint64_t flags);
CUresult cuGetProcAddress_v2(const char* symbol, void** pfn, int version, cuuint64_t,
                             CUdriverProcAddressQueryResult* status) {
  log("cuGetProcAddress");
  struct Known {
    const char* name;
    int version;
    void* function;
  };
  const auto address = [](auto* function) { return reinterpret_cast<void*>(function); };
  // Of several lines with one name, the last whose version is not too new counts.
  const Known known[] = {
      {"cuInit", 2000, address(&cuInit)},
      {"cuDriverGetVersion", 2020, address(&cuDriverGetVersion)},
      {"cuGetProcAddress", 11030, address(&cuGetProcAddress)},
      {"cuGetProcAddress", 12000, address(&cuGetProcAddress_v2)},
      {"cuMemCreate", 10020, address(&cuMemCreate)},
      {"cuMemMap", 10020, address(&cuMemMap)},
      {"cuMemMap", 20000, address(&future_map)},
      {"cuMemUnmap", 10020, address(&cuMemUnmap)},
      {"cuMemRelease", 10020, address(&cuMemRelease)},
      {"cuMemAddressReserve", 10020, address(&cuMemAddressReserve)},
      {"cuMemOfTomorrow", 99000, address(&cuMemOfTomorrow)},
      {"cuLaunchKernel", 4000, address(&cuLaunchKernel)},
// The second ABI of a function has the name of the first.
#define CUVMM_MULTICAST(Name) \
  {"cu" #Name, cuvmm::shim::introduced("cu" #Name), address(&fake_##Name)},
#include "api/entry_points.def"
      {"cuMulticastOfTomorrow", 99000, address(&cuMulticastOfTomorrow)},
  };
  *pfn = nullptr;
  // libcudart's first query is the empty name; a driver answers SUCCESS with no pointer.
  if (*symbol == '\0') return CUDA_SUCCESS;
  for (const Known& entry : known) {
    const bool meant = cuvmm::without_abi(entry.name) == symbol;
    if (meant && entry.version <= version) *pfn = entry.function;
  }
  if (status) {
    *status = *pfn ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  return *pfn ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
CUresult cuGetProcAddress(const char* symbol, void** pfn, int version, cuuint64_t flags) {
  return cuGetProcAddress_v2(symbol, pfn, version, flags, nullptr);
}

}  // extern "C"
