// SPDX-License-Identifier: Apache-2.0
#include "emulator/base/life.h"

#include <pthread.h>

#include <cstdlib>

namespace cuvmm::emulator {

namespace {

bool (*locked_by_anybody)() = nullptr;

// What a child would share with its parent (memfds) is not what a driver gives a child: it cannot
// use the emulator. So nothing has to be consistent in it, fork need not wait for other threads,
// and a signal handler may fork whatever it interrupted.
void in_child() {
  const Phase before = life.load();
  // A thread that does not exist here may have been in the middle of cuInit.
  if (before == Phase::kReady || (before == Phase::kBefore && locked_by_anybody())) {
    life.store(Phase::kForked);
  }
}

// Takes no lock: exit() may have interrupted this very thread inside a call. What other threads do
// in their calls stays valid, as nothing is freed.
void at_exit() {
  Phase ready = Phase::kReady;
  life.compare_exchange_strong(ready, Phase::kEnded);
}

}  // namespace

void begin_life() {
  // Where no handler can be registered any more, exit() is as good as over.
  std::atexit(at_exit);
  life.store(Phase::kReady);
}

void follow_forks(bool (*locked)()) {
  static constinit std::atomic<bool> followed{false};
  if (followed.exchange(true)) return;
  locked_by_anybody = locked;
  pthread_atfork(nullptr, nullptr, in_child);
}

}  // namespace cuvmm::emulator
