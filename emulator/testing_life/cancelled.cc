// SPDX-License-Identifier: Apache-2.0
// pthread_cancel of a thread that makes legal calls, also calls that open, read and close files:
// the thread ends at the program's own cancellation points, and the driver still works. A cancel is
// pending before each call, so that the result does not depend on timing; then 60 cancels come from
// another thread at any time.
#include <pthread.h>

#include "emulator/testing_life/flows.h"

namespace {

void* pending(void* reached) {
  pthread_cancel(pthread_self());
  use_device();
  cycle();
  share();
  name_memory();
  broadcast();
  EXPECT(cuGraphicsUnregisterResource(nullptr) == CUDA_ERROR_NOT_SUPPORTED);
  *static_cast<int*>(reached) += 1;
  pthread_testcancel();
  *static_cast<int*>(reached) += 1;
  return nullptr;
}

void* looping(void*) {
  use_device();
  for (;;) {
    share();
    pthread_testcancel();
  }
}

}  // namespace

int main() {
  wait_shortly_for_teams();
  pthread_t thread;
  void* result = nullptr;
  int reached = 0;
  EXPECT(pthread_create(&thread, nullptr, pending, &reached) == 0);
  EXPECT(pthread_join(thread, &result) == 0);
  EXPECT(result == PTHREAD_CANCELED && reached == 1);
  constexpr int kThreads = 60;
  for (int i = 0; i < kThreads; ++i) {
    EXPECT(pthread_create(&thread, nullptr, looping, nullptr) == 0);
    for (int k = 0; k < i % 20; ++k) sched_yield();
    pthread_cancel(thread);
    EXPECT(pthread_join(thread, &result) == 0);
    EXPECT(result == PTHREAD_CANCELED);
  }
  use_device();
  share();
  return 0;
}
