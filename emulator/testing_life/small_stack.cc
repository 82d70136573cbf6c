// SPDX-License-Identifier: Apache-2.0
// Runs all calls on a thread with a small stack. Arguments: bytes of stack for cuInit, and for all
// other calls.
#include <limits.h>
#include <pthread.h>

#include "emulator/testing_life/flows.h"

namespace {

void run(size_t stack, void* (*body)(void*)) {
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  EXPECT(pthread_attr_setstacksize(&attributes, stack) == 0);
  EXPECT(pthread_create(&thread, &attributes, body, nullptr) == 0);
  EXPECT(pthread_join(thread, nullptr) == 0);
}

void* initialise(void*) {
  use_device();
  return nullptr;
}

void* use_all(void*) {
  CUcontext context = nullptr;
  OK(cuDevicePrimaryCtxRetain(&context, 0));
  OK(cuCtxSetCurrent(context));
  cycle();
  share();
  name_memory();
  broadcast();
  CUdeviceptr pooled = 0;
  OK(cuMemAllocAsync(&pooled, 4096, nullptr));
  OK(cuMemFreeAsync(pooled, nullptr));
  const char* text = nullptr;
  OK(cuGetErrorString(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
  size_t free = 0, total = 0;
  OK(cuMemGetInfo(&free, &total));
  EXPECT(cuMemMap(0, 0, 0, 0, 0) != CUDA_SUCCESS);
  return nullptr;
}

}  // namespace

int main(int count, char** arguments) {
  EXPECT(count == 3);
  wait_shortly_for_teams();
  run(std::strtoul(arguments[1], nullptr, 10), initialise);
  run(std::strtoul(arguments[2], nullptr, 10), use_all);
  return 0;
}
