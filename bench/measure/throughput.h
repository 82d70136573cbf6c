// SPDX-License-Identifier: Apache-2.0
// Measures the calls per second of several threads that repeat the same work.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "bench/measure/machine.h"

namespace cuvmm::bench {

/// Runs body(thread) repeatedly in each thread for `seconds`. body() returns the number of its
/// calls. Returns the calls per second of all threads together.
template <class Body>
double throughput(const Variant& variant, int threads, double seconds, Body body) {
  std::atomic<int> ready{0};
  std::atomic<bool> go{false};
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> calls{0};
  std::vector<std::thread> crew;
  for (int t = 0; t < threads; ++t) {
    crew.emplace_back([&, t] {
      use_device(variant.driver);
      body(t);  // warm
      ready.fetch_add(1);
      while (!go.load(std::memory_order_acquire)) std::this_thread::yield();
      std::uint64_t mine = 0;
      do {  // at least once: on a busy machine the time can be over before this thread has its turn
        mine += body(t);
      } while (!stop.load(std::memory_order_relaxed));
      calls.fetch_add(mine);
    });
  }
  while (ready.load() != threads) std::this_thread::yield();
  const auto start = std::chrono::steady_clock::now();
  go.store(true, std::memory_order_release);
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  stop.store(true, std::memory_order_relaxed);
  for (std::thread& thread : crew) thread.join();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  return static_cast<double>(calls.load()) / took.count();
}

struct Throughputs {
  std::vector<double> medians;  ///< calls per second, by variant
  std::uint64_t turns = 0;      ///< number of turns of each variant
};

/// Measures throughput() of each variant in turn, for about 20 ms each, because the load of a
/// shared machine changes after that.
template <class Body>
Throughputs throughputs(const std::vector<Variant>& variants, int threads, double seconds,
                        Body body) {
  const double each = seconds / static_cast<double>(variants.size());
  const auto turns = static_cast<std::size_t>(std::clamp(each / 0.02, 5.0, 501.0));
  std::vector<std::vector<double>> all(variants.size());
  for (std::size_t time = 0; time < turns; ++time) {
    for (std::size_t v = 0; v < variants.size(); ++v) {
      all[v].push_back(throughput(variants[v], threads, each / static_cast<double>(turns),
                                  [&](int t) { return body(variants[v], t); }));
    }
  }
  Throughputs result{{}, turns};
  for (std::vector<double>& one : all) {
    std::nth_element(one.begin(), one.begin() + static_cast<std::ptrdiff_t>(turns / 2), one.end());
    result.medians.push_back(one[turns / 2]);
  }
  return result;
}

}  // namespace cuvmm::bench
