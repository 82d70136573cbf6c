// SPDX-License-Identifier: Apache-2.0
// Threads that continue their calls while the process exits and after the driver's end. 40
// processes, each of which exits at another moment.
#include <thread>

#include "emulator/testing_life/life.h"

namespace {

constexpr int kProcesses = 40;
constexpr int kThreads = 3;
constexpr int kStatus = 41;

CUresult one_cycle() {
  CUdeviceptr address = 0;
  CUmemGenericAllocationHandle handle = 0;
  const CUmemAllocationProp prop = properties(true);
  CUcontext context = nullptr;
  if (cuCtxGetCurrent(&context) == CUDA_ERROR_DEINITIALIZED) return CUDA_ERROR_DEINITIALIZED;
  cuMemAddressReserve(&address, kGranule, 0, 0, 0);
  cuMemCreate(&handle, kGranule, &prop, 0);
  cuMemMap(address, kGranule, 0, handle, 0);
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  cuMemSetAccess(address, kGranule, &access, 1);
  cuMemsetD8(address, 1, 64);
  cuMemUnmap(address, kGranule);
  cuMemRelease(handle);
  return cuMemAddressFree(address, kGranule);
}

// Runs after the driver's end, and long enough that the threads call the ended driver.
void linger() {
  for (int i = 0; i < 20; ++i) {
    if (one_cycle() != CUDA_ERROR_DEINITIALIZED) _exit(1);
  }
  std::this_thread::yield();
}

}  // namespace

int main() {
  for (int i = 0; i < kProcesses; ++i) {
    const int ending = ending_of([i] {
      std::atexit(linger);
      CUcontext context = use_device();
      for (int t = 0; t < kThreads; ++t) {
        std::thread([context] {
          cuCtxSetCurrent(context);
          for (;;) one_cycle();
        }).detach();
      }
      usleep(static_cast<useconds_t>(i) * 50);
      std::exit(kStatus);
    });
    EXPECT(ending == kStatus);
  }
  return 0;
}
