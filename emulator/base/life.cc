// SPDX-License-Identifier: Apache-2.0
#include "emulator/base/life.h"

#include <pthread.h>

#include <cstdlib>

namespace cuvmm::emulator {

namespace {

bool (*locked_by_anybody)() = nullptr;

// A child of fork would share memfds with its parent, which a driver's child does not; therefore
// the child cannot use the emulator. So no state has to be consistent in the child, fork need not
// wait for other threads, and a signal handler may fork whatever code it interrupted.
void in_child() {
  const Phase before = life.load();
  // A thread of the parent, which does not exist in the child, may have been in the middle of
  // cuInit.
  if (before == Phase::kReady || (before == Phase::kBefore && locked_by_anybody())) {
    life.store(Phase::kForked);
  }
}

// Takes no lock, because exit() may have interrupted this very thread inside a call. The memory
// that other threads use in their calls stays valid, because nothing is freed.
void at_exit() {
  Phase ready = Phase::kReady;
  life.compare_exchange_strong(ready, Phase::kEnded);
}

}  // namespace

void begin_life() {
  // std::atexit fails only when no handler can be registered any more; exit() is then nearly over.
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
