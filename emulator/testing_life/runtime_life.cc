// SPDX-License-Identifier: Apache-2.0
// The emulator's libcudart at unusual moments of a process's life. Arguments: end (a global's
// destructor, after the driver's end), forks (200, while another thread makes calls), cancelled (a
// thread whose first call comes while a cancel is pending).
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "emulator/testing_life/expect.h"

// Declared here: NVIDIA's header does not compile everywhere.
extern "C" {
int cudaMalloc(void** out, size_t size);
int cudaFree(void* address);
int cudaDeviceReset();
int cudaGetDeviceCount(int* count);
const char* cudaGetErrorString(int error);
}

namespace {

constexpr int kUnloading = 4;
constexpr int kNotInitialised = 3;

struct Buffer {
  void* memory = nullptr;
  ~Buffer() {
    if (!memory) return;
    EXPECT(cudaFree(memory) == kUnloading);
    EXPECT(cudaMalloc(&memory, 512) == kUnloading);
    EXPECT(cudaDeviceReset() == kUnloading);
  }
};
Buffer global;

void use_in_child() {
  alarm(100);
  void* memory = nullptr;
  EXPECT(cudaMalloc(&memory, 512) == kNotInitialised);
  EXPECT(cudaDeviceReset() == kNotInitialised);
  EXPECT(std::strlen(cudaGetErrorString(1)) != 0);
  _exit(0);
}

int ending(pid_t child) {
  int status = 0;
  EXPECT(waitpid(child, &status, 0) == child);
  return status;
}

// The first call of all is made before the forks, because glibc's fork does not handle its own lock
// of dlopen.
void fork_while_busy() {
  std::atomic<bool> stop{false};
  void* memory = nullptr;
  EXPECT(cudaMalloc(&memory, 512) == 0);
  std::thread thread([&] {
    while (!stop) {
      void* own = nullptr;
      EXPECT(cudaMalloc(&own, 512) == 0);
      EXPECT(cudaDeviceReset() == 0);
    }
  });
  for (int i = 0; i < 200; ++i) {
    const pid_t child = fork();
    if (child == 0) use_in_child();
    EXPECT(ending(child) == 0);
  }
  stop = true;
  thread.join();
}

void* first_call(void* reached) {
  pthread_cancel(pthread_self());
  void* memory = nullptr;
  EXPECT(cudaMalloc(&memory, 512) == 0 && cudaFree(memory) == 0);
  *static_cast<int*>(reached) = 1;
  pthread_testcancel();
  *static_cast<int*>(reached) = 2;
  return nullptr;
}

}  // namespace

int main(int count, char** arguments) {
  EXPECT(count == 2);
  const char* const what = arguments[1];
  if (std::strcmp(what, "end") == 0) {
    EXPECT(cudaMalloc(&global.memory, 512) == 0);
  } else if (std::strcmp(what, "forks") == 0) {
    fork_while_busy();
  } else {
    pthread_t thread;
    void* result = nullptr;
    int reached = 0;
    int devices = 0;
    EXPECT(pthread_create(&thread, nullptr, first_call, &reached) == 0);
    EXPECT(pthread_join(thread, &result) == 0);
    EXPECT(result == PTHREAD_CANCELED && reached == 1);
    EXPECT(cudaGetDeviceCount(&devices) == 0 && devices == 8);
  }
  return 0;
}
