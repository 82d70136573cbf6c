// SPDX-License-Identifier: Apache-2.0
#include "api/posix/worker.h"

#include <pthread.h>
#include <sched.h>

namespace cuvmm {

Worker::Worker(Place place)
    : place_(place), thread_([this] {
        for (;;) {
          asked_.acquire();
          if (!work_) return;
          (*work_)();
          done_.release();
        }
      }) {}

Worker::~Worker() {
  work_ = nullptr;
  asked_.release();
  thread_.join();
}

void Worker::run(const std::function<void()>& work) {
  const int core = place_ == Place::kBesideCaller ? sched_getcpu() : -1;
  if (core >= 0 && core != core_) {
    core_ = core;
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(core, &only);
    pthread_setaffinity_np(thread_.native_handle(), sizeof only, &only);
  }
  work_ = &work;
  asked_.release();
  done_.acquire();
}

}  // namespace cuvmm
