// SPDX-License-Identifier: Apache-2.0
// Calls of the driver in destructors of threads' objects and keys, in the order in which a thread
// ends: the current context stays current until the thread has ended.
#include <pthread.h>

#include "emulator/testing_life/life.h"

namespace {

int cleaned = 0;

void clean() {
  CUcontext context = nullptr;
  OK(cuCtxGetCurrent(&context));
  EXPECT(context);
  cycle();
  ++cleaned;
}

struct Object {
  ~Object() { clean(); }
};
thread_local Object object;

}  // namespace

int main() {
  pthread_key_t key;
  EXPECT(pthread_key_create(&key, [](void*) { clean(); }) == 0);
  CUcontext context = use_device();
  constexpr int kThreads = 20;
  static pthread_key_t* const keys = &key;
  for (int i = 0; i < kThreads; ++i) {
    pthread_t thread;
    const auto body = [](void* current) -> void* {
      (void)&object;
      pthread_setspecific(*keys, keys);
      // A deeper stack of contexts than most programs have.
      for (int depth = 0; depth < 20; ++depth) {
        OK(cuCtxPushCurrent(static_cast<CUcontext>(current)));
      }
      for (int depth = 0; depth < 19; ++depth) {
        CUcontext popped = nullptr;
        OK(cuCtxPopCurrent(&popped));
        EXPECT(popped == current);
      }
      return nullptr;
    };
    EXPECT(pthread_create(&thread, nullptr, body, context) == 0);
    EXPECT(pthread_join(thread, nullptr) == 0);
  }
  EXPECT(cleaned == 2 * kThreads);
  (void)&object;  // the object's destructor also runs in the main thread, when the process exits
  return 0;
}
