// SPDX-License-Identifier: Apache-2.0
// Ends in the middle of a call, or gets a fault of the device, over shim/testing/fake_driver.cc.
#include <cuda.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <thread>

#include "life.h"
#include "shim/testing/fake_driver.h"

namespace {

CUstream stream(std::uintptr_t number) { return reinterpret_cast<CUstream>(number); }

void take_away(CUdeviceptr address) { life::must(cuMemUnmap(address, life::kPage)); }

// Ends one mapping, and launches a kernel.
void work() {
  life::must(cuInit(0));
  CUdeviceptr address = 0;
  CUmemGenericAllocationHandle handle = 0;
  const CUmemAllocationProp prop = life::properties();
  life::must(cuMemAddressReserve(&address, 2 * life::kPage, 0, 0, 0));
  life::must(cuMemCreate(&handle, life::kPage, &prop, 0));
  life::must(cuMemMap(address, life::kPage, 0, handle, 0));
  life::must(cuMemMap(address + life::kPage, life::kPage, 0, handle, 0));
  life::must(cuLaunchKernel(nullptr, 1, 2, 3, 4, 5, 6, 7, nullptr, reinterpret_cast<void**>(8),
                            reinterpret_cast<void**>(9)));
  take_away(address);
}

int exits(const char*) {
  work();
  life::must(cuStreamSynchronize(nullptr));
  return 0;
}

// One thread stays in the driver while another makes calls.
int blocks(const char*) {
  work();
  std::thread([] { cuStreamSynchronize(stream(kBlockingStream)); }).detach();
  for (int i = 0; i < 5000; ++i) life::must(cuStreamSynchronize(nullptr));
  ::write(1, "blocked\n", 8);
  for (;;) ::pause();
}

int killed(const char*) {
  work();
  cuStreamSynchronize(stream(kDeadlyStream));
  return 1;
}

int faults(const char*) {
  work();
  for (int i = 0; i < 3; ++i) {
    if (cuStreamSynchronize(stream(kFaultyStream)) != CUDA_ERROR_ILLEGAL_ADDRESS) return 1;
  }
  return 0;
}

int child_killed(const char*) {
  work();
  const pid_t child = ::fork();
  if (child == 0) {
    life::must(cuStreamSynchronize(nullptr));
    cuStreamSynchronize(stream(kDeadlyStream));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ::dprintf(1, "%d\n", child);
  return WIFSIGNALED(status) ? 0 : 1;
}

int execs(const char*) {
  work();
  ::execl("/proc/self/exe", "crash", "exits", nullptr);
  return 1;
}

constexpr life::Scenario kScenarios[] = {
    {"exits", exits},
    {"blocks", blocks},
    {"killed", killed},
    {"faults", faults},
    {"child-killed", child_killed},
    {"execs", execs},
};

}  // namespace

int main(int count, char** arguments) { return life::run(kScenarios, count, arguments); }
