// SPDX-License-Identifier: Apache-2.0
// Times one thing for each variant in turn.
#pragma once

#include <dlfcn.h>

#include <chrono>
#include <string>
#include <vector>

#include "bench/measure/measure.h"
#include "bench/measure/samples.h"

namespace cuvmm::bench {

/// Runs body(index of variant) repeatedly, for each variant in turn, and times `batch` runs at
/// once. Records ns per run under `name` and the variant's name. Calls between(index of variant)
/// after every 200 samples, without timing it.
template <class Body, class Between>
void time_each(const Variants& variants, double seconds, int batch, const std::string& name,
               Results& results, Body body, Between between) {
  std::vector<Samples> samples(variants.size());
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < std::chrono::duration<double>(seconds)) {
    for (std::size_t v = 0; v < variants.size(); ++v) {
      for (int i = 0; i < 200; ++i) {
        const std::uint64_t begin = ticks();
        for (int run = 0; run < batch; ++run) body(v);
        samples[v].add(ticks() - begin);
      }
      between(v);
    }
  }
  for (std::size_t v = 0; v < variants.size(); ++v) {
    results.add({name + variants[v].name, "ns", samples[v].quantile(0.5, clock_overhead()) / batch,
                 samples[v].quantile(0.99, clock_overhead()) / batch, samples[v].size()});
  }
}
template <class Body>
void time_each(const Variants& variants, double seconds, int batch, const std::string& name,
               Results& results, Body body) {
  time_each(variants, seconds, batch, name, results, body, [](std::size_t) {});
}

/// The function `name` of each variant's library, by index of the variant.
template <class Function>
std::vector<Function> functions(const Variants& variants, const char* name) {
  std::vector<Function> found;
  for (const Variant& variant : variants) {
    found.push_back(reinterpret_cast<Function>(::dlsym(variant.library, name)));
  }
  return found;
}

}  // namespace cuvmm::bench
