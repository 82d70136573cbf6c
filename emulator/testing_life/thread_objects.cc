// SPDX-License-Identifier: Apache-2.0
// The driver in destructors of threads' objects and keys, in the order in which a thread ends: what
// was current stays so until the thread is gone.
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
      // Deeper than most programs go.
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
  (void)&object;  // and of the main thread, as the process exits
  return 0;
}
