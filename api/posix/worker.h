// SPDX-License-Identifier: Apache-2.0
// A thread that runs one thing at a time while its caller waits: so there is one order of events.
#pragma once

#include <functional>
#include <semaphore>
#include <thread>

namespace cuvmm {

class Worker {
 public:
  enum class Place {
    kAnywhere,
    /// On the core of its caller: only one of the two has anything to do, and to wake a thread on
    /// another core takes longer than most calls. Threads that the work starts inherit it.
    kBesideCaller,
  };
  explicit Worker(Place place = Place::kAnywhere);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Returns when the work is done.
  void run(const std::function<void()>& work);

 private:
  // Not a condition variable: its mutex would wake each of the two twice.
  std::binary_semaphore asked_{0}, done_{0};
  const std::function<void()>* work_ = nullptr;  ///< null: the end
  const Place place_;
  int core_ = -1;
  std::thread thread_;
};

}  // namespace cuvmm
