// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <chrono>
#include <memory>

#include "bench/measure/life.h"
#include "bench/measure/measure.h"
#include "bench/measure/samples.h"
#include "bench/measure/stopwatch.h"

namespace cuvmm::bench {

namespace {

constexpr std::size_t kEntries = static_cast<std::size_t>(EntryPoint::kCount);

// The samples of one variant, by entry point.
struct Seen {
  std::array<std::unique_ptr<Samples>, kEntries> calls;
  std::array<const char*, kEntries> names{};
  Samples cycles;

  template <class CallStruct>
  void add(const CallStruct&, std::uint64_t ticks) {
    const auto entry = static_cast<std::size_t>(CallStruct::kEntryPoint);
    if (!calls[entry]) calls[entry] = std::make_unique<Samples>();
    names[entry] = CallStruct::kName;
    calls[entry]->add(ticks);
  }
};

void one_round(const Variant& variant, bool share, void* host, Seen& seen) {
  const auto timed = [&](const auto& call) {
    const Stopwatch watch;
    const CUresult result = variant.driver(call);
    const std::uint64_t elapsed = watch.elapsed();
    must(result, std::decay_t<decltype(call)>::kName);
    seen.add(call, elapsed);
  };
  // Times only the calls that no other sequence makes. The other calls would distort their samples,
  // because these blocks hold bytes and are freed more slowly.
  const auto timed_only = [&]<class CallStruct>(const CallStruct& call) {
    if constexpr (std::is_same_v<CallStruct, calls::MemcpyHtoD> ||
                  std::is_same_v<CallStruct, calls::MemExportToShareableHandle> ||
                  std::is_same_v<CallStruct, calls::MemImportFromShareableHandle>) {
      timed(call);
    } else {
      must(variant.driver(call), CallStruct::kName);
    }
  };
  for (int i = 0; i < 50; ++i) {
    const Stopwatch watch;
    cycle_once(variant.driver);
    seen.cycles.add(watch.elapsed());
  }
  for (int i = 0; i < 50; ++i) live_once(timed, nullptr);
  for (int i = 0; i < 5; ++i) live_once(timed_only, host);
  for (int i = 0; share && i < 5; ++i) share_once(timed_only);
}

void say(const Samples& samples, const std::string& name, Results& results) {
  results.add({name, "ns", samples.quantile(0.5, clock_overhead()),
               samples.quantile(0.99, clock_overhead()), samples.size()});
}

}  // namespace

void measure_calls(const Variants& variants, std::size_t live, double seconds, Results& results) {
  const LiveMappings others(variants.back().driver, live);
  std::vector<char> host(4096);
  std::vector<Seen> seen(variants.size());
  for (std::size_t v = 0; v < variants.size(); ++v) {  // warm
    Seen ignored;
    one_round(variants[v], live == 0, host.data(), ignored);
  }
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < std::chrono::duration<double>(seconds)) {
    for (std::size_t v = 0; v < variants.size(); ++v) {
      one_round(variants[v], live == 0, host.data(), seen[v]);
    }
  }
  const std::string where = "live:" + std::to_string(live) + "/";
  for (std::size_t entry = 0; entry < kEntries; ++entry) {
    for (std::size_t v = 0; v < variants.size(); ++v) {
      if (!seen[v].calls[entry]) continue;
      say(*seen[v].calls[entry],
          std::string("call/") + seen[v].names[entry] + "/" + where + variants[v].name, results);
    }
  }
  for (std::size_t v = 0; v < variants.size(); ++v) {
    say(seen[v].cycles, "cycle/" + where + variants[v].name, results);
  }
}

}  // namespace cuvmm::bench
