// SPDX-License-Identifier: Apache-2.0
// fork while other threads are inside the driver, and in a signal handler that interrupted a call
// of its own thread. The child's calls answer at once; the parent continues. Arguments: busy (100
// forks), handler (100 signals), initialising (50 processes that fork while they run cuInit).
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

#include "emulator/testing_life/life.h"

namespace {

constexpr int kForks = 100;
std::atomic<bool> stop{false};
std::atomic<int> handled{0};

// The calls that a child may make. The alarm ends a child that hangs, however slow the machine is.
void use_in_child() {
  alarm(100);
  int version = 0;
  const char* name = nullptr;
  CUdeviceptr address = 0;
  EXPECT(cuDriverGetVersion(&version) == CUDA_SUCCESS && version != 0);
  OK(cuGetErrorName(CUDA_ERROR_INVALID_VALUE, &name));
  EXPECT(cuMemAddressReserve(&address, kGranule, 0, 0, 0) == CUDA_ERROR_NOT_INITIALIZED);
  EXPECT(cuMemMap(0, 0, 0, 0, 0) == CUDA_ERROR_NOT_INITIALIZED);
}

void while_busy() {
  use_device();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      use_device();
      while (!stop) cycle(true);
    });
  }
  for (int i = 0; i < kForks; ++i) {
    const int ending = ending_of([i] {
      use_in_child();
      if (i % 2 == 0) _exit(0);
    });
    EXPECT(ending == 0);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

void in_handler() {
  use_device();
  struct sigaction action {};
  action.sa_handler = [](int) {
    const int error = errno;
    const pid_t child = fork();
    if (child == 0) _exit(0);
    int status = 0;
    if (child > 0) waitpid(child, &status, 0);
    ++handled;
    errno = error;
  };
  action.sa_flags = SA_RESTART;
  EXPECT(sigaction(SIGUSR1, &action, nullptr) == 0);
  // Warms up the memory that is allocated once: glibc's fork waits for ever where its handler
  // interrupted malloc under the arena's lock, whichever library called malloc. The memory that the
  // cycle allocates again and again comes from the thread's cache, without the lock.
  for (int i = 0; i < 20; ++i) cycle();
  const pthread_t self = pthread_self();
  std::thread sender([self] {
    for (int i = 0; i < kForks; ++i) {
      pthread_kill(self, SIGUSR1);
      while (handled <= i) std::this_thread::yield();
    }
    stop = true;
  });
  alarm(100);
  while (!stop) cycle();
  sender.join();
}

// The child of a fork in the middle of cuInit has either the whole driver or none.
void while_initialising() {
  for (int i = 0; i < kForks / 2; ++i) {
    const int ending = ending_of([i] {
      std::atomic<bool> started{false};
      std::thread thread([&] {
        started = true;
        cuInit(0);
      });
      while (!started) std::this_thread::yield();
      // Does not use sched_yield, which would wait for other programs of the machine.
      for (volatile int k = 0; k < i * 20000;) k = k + 1;
      const int child = ending_of([] {
        alarm(100);
        const CUresult result = cuInit(0);
        CUdevice device = 0;
        EXPECT(cuDeviceGet(&device, 0) == result);
        EXPECT(result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_INITIALIZED);
        _exit(0);
      });
      EXPECT(child == 0);
      thread.join();
      use_device();
      cycle();
    });
    EXPECT(ending == 0);
  }
}

}  // namespace

int main(int count, char** arguments) {
  EXPECT(count == 2);
  const char* const how = arguments[1];
  if (std::strcmp(how, "busy") == 0) {
    while_busy();
  } else if (std::strcmp(how, "handler") == 0) {
    in_handler();
  } else if (std::strcmp(how, "initialising") == 0) {
    while_initialising();
  } else {
    return 2;
  }
  return 0;
}
