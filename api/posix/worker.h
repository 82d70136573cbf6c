// SPDX-License-Identifier: Apache-2.0
// A thread that does one piece of work at a time while its caller waits, so that events have one
// order.
#pragma once

#include <semaphore.h>

#include <functional>
#include <thread>

namespace cuvmm {

class Worker {
 public:
  enum class Place {
    kAnywhere,
    /// On the core of its caller. Only one of the two threads has anything to do, and waking a
    /// thread on another core takes longer than most calls. Threads that the work starts inherit
    /// the core.
    kBesideCaller,
  };
  explicit Worker(Place place = Place::kAnywhere);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Returns when the work is done.
  void run(const std::function<void()>& work);

 private:
  // Semaphores, because the mutex of a condition variable would wake each of the two threads twice;
  // those of POSIX, because std::binary_semaphore yields before it sleeps, and each yield gives the
  // core to some other process of a busy machine.
  class Semaphore {
   public:
    Semaphore() { sem_init(&semaphore_, 0, 0); }
    ~Semaphore() { sem_destroy(&semaphore_); }
    Semaphore(const Semaphore&) = delete;
    Semaphore& operator=(const Semaphore&) = delete;
    void release() { sem_post(&semaphore_); }
    void acquire() {
      while (sem_wait(&semaphore_) != 0) {  // a signal interrupted the wait
      }
    }

   private:
    sem_t semaphore_;
  };
  Semaphore asked_, done_;
  const std::function<void()>* work_ = nullptr;  ///< null: the thread ends
  const Place place_;
  int core_ = -1;
  std::thread thread_;
};

}  // namespace cuvmm
