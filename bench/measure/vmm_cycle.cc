// SPDX-License-Identifier: Apache-2.0
// What the shim adds to a VMM call, and how fast the emulator is: both libcudas in one process, the
// bare emulator and the shim over it, measured in turn in one run.
//
// Each benchmark is named driver/what/live, where live is the number of mappings that exist
// meanwhile. At the end the ratio and the difference of the shim over the bare emulator are
// printed.
#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <stdlib.h>

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "api/driver.h"

namespace cuvmm {
namespace {

constexpr std::size_t kGranule = std::size_t{2} << 20;  // bytes
constexpr std::int64_t kFew = 10, kMany = 1'000'000;

struct Target {
  const char* name;
  Driver driver;
};

void must(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "vmm_cycle: %s: %s\n", what, result_name(result).c_str());
  exit(1);
}

CUmemAllocationProp device_memory() {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, {}};
  return prop;
}

// `count` mappings of one allocation in one reservation, unmapped again at the end.
class LiveMappings {
 public:
  LiveMappings(const Driver& driver, std::int64_t count)
      : driver_(driver), size_(static_cast<std::size_t>(count) * kGranule) {
    const CUmemAllocationProp prop = device_memory();
    must(driver_(calls::MemAddressReserve{.ptr = &base_, .size = size_}), "reserve");
    must(driver_(calls::MemCreate{.handle = &handle_, .size = kGranule, .prop = &prop}), "create");
    for (CUdeviceptr at = base_; at < base_ + size_; at += kGranule) {
      must(driver_(calls::MemMap{.ptr = at, .size = kGranule, .handle = handle_}), "map");
    }
  }
  ~LiveMappings() {
    must(driver_(calls::MemUnmap{.ptr = base_, .size = size_}), "unmap");
    must(driver_(calls::MemRelease{.handle = handle_}), "release");
    must(driver_(calls::MemAddressFree{.ptr = base_, .size = size_}), "free");
  }
  LiveMappings(const LiveMappings&) = delete;
  LiveMappings& operator=(const LiveMappings&) = delete;

 private:
  const Driver& driver_;
  const std::size_t size_;
  CUdeviceptr base_ = 0;
  CUmemGenericAllocationHandle handle_ = 0;
};

// reserve, create, map, access, unmap, release, free: seven calls.
void cycle(benchmark::State& state, const Driver& driver, std::int64_t live) {
  const LiveMappings others(driver, live);
  const CUmemAllocationProp prop = device_memory();
  const CUmemAccessDesc access{prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  for (auto _ : state) {
    CUdeviceptr p = 0;
    CUmemGenericAllocationHandle handle = 0;
    must(driver(calls::MemAddressReserve{.ptr = &p, .size = kGranule}), "reserve");
    must(driver(calls::MemCreate{.handle = &handle, .size = kGranule, .prop = &prop}), "create");
    must(driver(calls::MemMap{.ptr = p, .size = kGranule, .handle = handle}), "map");
    must(driver(calls::MemSetAccess{.ptr = p, .size = kGranule, .desc = &access, .count = 1}),
         "access");
    must(driver(calls::MemUnmap{.ptr = p, .size = kGranule}), "unmap");
    must(driver(calls::MemRelease{.handle = handle}), "release");
    must(driver(calls::MemAddressFree{.ptr = p, .size = kGranule}), "free");
  }
  state.counters["calls/s"] = benchmark::Counter(7.0 * static_cast<double>(state.iterations()),
                                                 benchmark::Counter::kIsRate);
}

// map and unmap of an allocation that stays: two calls.
void map_unmap(benchmark::State& state, const Driver& driver, std::int64_t live) {
  const LiveMappings others(driver, live);
  const CUmemAllocationProp prop = device_memory();
  CUdeviceptr p = 0;
  CUmemGenericAllocationHandle handle = 0;
  must(driver(calls::MemAddressReserve{.ptr = &p, .size = kGranule}), "reserve");
  must(driver(calls::MemCreate{.handle = &handle, .size = kGranule, .prop = &prop}), "create");
  for (auto _ : state) {
    must(driver(calls::MemMap{.ptr = p, .size = kGranule, .handle = handle}), "map");
    must(driver(calls::MemUnmap{.ptr = p, .size = kGranule}), "unmap");
  }
  must(driver(calls::MemRelease{.handle = handle}), "release");
  must(driver(calls::MemAddressFree{.ptr = p, .size = kGranule}), "free");
  state.counters["calls/s"] = benchmark::Counter(2.0 * static_cast<double>(state.iterations()),
                                                 benchmark::Counter::kIsRate);
}

// A call that reads only.
void granularity_query(benchmark::State& state, const Driver& driver, std::int64_t live) {
  const LiveMappings others(driver, live);
  const CUmemAllocationProp prop = device_memory();
  for (auto _ : state) {
    std::size_t granularity = 0;
    must(driver(calls::MemGetAllocationGranularity{.granularity = &granularity, .prop = &prop}),
         "query");
    benchmark::DoNotOptimize(granularity);
  }
  state.counters["calls/s"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

// Keeps each median, to set the two drivers against each other.
class Comparison : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      if (run.aggregate_name == "median")
        medians_[run.run_name.function_name] = run.GetAdjustedRealTime();
    }
  }
  void Finalize() override {
    for (const auto& [name, bare] : medians_) {
      if (name.rfind("emulator/", 0) != 0) continue;
      const auto shim = medians_.find("shim/" + name.substr(9));
      if (shim == medians_.end()) continue;
      std::printf("%-28s shim/bare = %.2f, added %.0f ns\n", name.substr(9).c_str(),
                  shim->second / bare, shim->second - bare);
    }
  }

 private:
  std::map<std::string, double> medians_;
};

Driver opened(const char* path) {
  const LoadedDriver loaded = load_driver(path);
  if (!loaded.error.empty()) {
    std::fprintf(stderr, "vmm_cycle: %s\n", loaded.error.c_str());
    exit(1);
  }
  must(loaded.driver(calls::Init{}), "cuInit");
  return loaded.driver;
}

}  // namespace
}  // namespace cuvmm

int main(int argc, char** argv) {
  setenv("CUVMM_DRIVER", CUVMM_EMULATOR, 1);
  setenv("CUVMM_QUIET", "1", 1);
  static const cuvmm::Target targets[] = {{"emulator", cuvmm::opened(CUVMM_EMULATOR)},
                                          {"shim", cuvmm::opened(CUVMM_SHIM)}};
  struct What {
    const char* name;
    void (*function)(benchmark::State&, const cuvmm::Driver&, std::int64_t);
  };
  for (const What& what : {What{"cycle", cuvmm::cycle}, What{"map-unmap", cuvmm::map_unmap},
                           What{"granularity", cuvmm::granularity_query}}) {
    for (const std::int64_t live : {cuvmm::kFew, cuvmm::kMany}) {
      for (const cuvmm::Target& target : targets) {
        const std::string name =
            std::string(target.name) + "/" + what.name + "/" + std::to_string(live);
        benchmark::RegisterBenchmark(name.c_str(),
                                     [&target, what, live](benchmark::State& state) {
                                       what.function(state, target.driver, live);
                                     })
            ->Repetitions(5)
            ->ReportAggregatesOnly()
            ->MinTime(0.1);
      }
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  cuvmm::Comparison reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  return 0;
}
