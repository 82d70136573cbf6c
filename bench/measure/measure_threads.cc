// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/life.h"
#include "bench/measure/measure.h"
#include "bench/measure/throughput.h"

namespace cuvmm::bench {

void measure_threads(const Variants& variants, int threads, bool shared, double seconds,
                     Results& results) {
  CUdeviceptr base = 0;
  const std::size_t size = static_cast<std::size_t>(threads) * kGranule;
  const Driver& maker = variants.back().driver;
  if (shared) must(maker(calls::MemAddressReserve{.ptr = &base, .size = size}), "reserve");
  const auto measured =
      throughputs(variants, threads, seconds, [&](const Variant& variant, int thread) {
        std::uint64_t calls = 0;
        live_once(
            [&](const auto& call) {
              must(variant.driver(call), std::decay_t<decltype(call)>::kName);
              ++calls;
            },
            nullptr, shared ? base + static_cast<std::size_t>(thread) * kGranule : 0);
        return calls;
      });
  if (shared) must(maker(calls::MemAddressFree{.ptr = base, .size = size}), "free");
  const std::string name =
      std::string(shared ? "shared" : "disjoint") + "/threads:" + std::to_string(threads) + "/";
  for (std::size_t v = 0; v < variants.size(); ++v) {
    results.add({name + variants[v].name, "calls/s", measured.medians[v], 0, measured.turns});
  }
}

}  // namespace cuvmm::bench
