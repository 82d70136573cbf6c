#include <dlfcn.h>

#include <chrono>

#include "bench/measure.h"
#include "bench/samples.h"
#include "bench/throughput.h"

namespace cuvmm::bench {

namespace {

constexpr std::size_t kBytes = 64;

// body() again and again for each variant in turn, timed `batch` runs at a time; ns per run.
template <class Body>
void time_each(const Variants& variants, double seconds, int batch, const std::string& name,
               Results& results, Body body) {
  std::vector<Samples> samples(variants.size());
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < std::chrono::duration<double>(seconds)) {
    for (std::size_t v = 0; v < variants.size(); ++v) {
      for (int i = 0; i < 200; ++i) {
        const std::uint64_t begin = ticks();
        for (int run = 0; run < batch; ++run) body(variants[v]);
        samples[v].add(ticks() - begin);
      }
    }
  }
  for (std::size_t v = 0; v < variants.size(); ++v) {
    results.add({name + variants[v].name, "ns", samples[v].quantile(0.5, clock_overhead()) / batch,
                 samples[v].quantile(0.99, clock_overhead()) / batch, samples[v].size()});
  }
}

}  // namespace

void measure_copies(const Variants& variants, const std::string& where,
                    const std::vector<int>& threads, double seconds, Results& results) {
  const Driver& maker = variants.front().driver;
  CUdeviceptr ptr = 0;
  must(maker(calls::MemAlloc{.dptr = &ptr, .bytesize = kGranule}), "cuMemAlloc");
  char host[kBytes] = {};
  time_each(variants, seconds, 1, where + "/cuMemcpyHtoD/", results, [&](const Variant& variant) {
    must(variant.driver(calls::MemcpyHtoD{ptr, host, kBytes}), "cuMemcpyHtoD");
  });
  time_each(
      variants, seconds, 1, where + "/cuMemsetD8Async/", results, [&](const Variant& variant) {
        must(variant.driver(calls::MemsetD8Async{ptr, 1, kBytes, nullptr}), "cuMemsetD8Async");
      });
  must(maker(calls::CtxSynchronize{}), "cuCtxSynchronize");
  for (const int count : threads) {
    const auto medians =
        throughputs(variants, count, seconds, [&](const Variant& variant, int thread) {
          char mine[kBytes] = {};
          constexpr std::uint64_t kTogether = 16;
          for (std::uint64_t i = 0; i < kTogether; ++i) {
            must(variant.driver(calls::MemcpyHtoD{ptr + static_cast<std::size_t>(thread) * kBytes,
                                                  mine, kBytes}),
                 "cuMemcpyHtoD");
          }
          return kTogether;
        });
    for (std::size_t v = 0; v < variants.size(); ++v) {
      results.add({where + "/threads:" + std::to_string(count) + "/" + variants[v].name, "calls/s",
                   medians[v], 0, 5});
    }
  }
  must(maker(calls::MemFree{ptr}), "cuMemFree");
}

void measure_other(const Variants& variants, double seconds, Results& results) {
  using Function = CUresult(CUDAAPI*)(CUcontext*);
  time_each(variants, seconds, 100, "other/cuCtxGetCurrent/", results, [](const Variant& variant) {
    static void* library = nullptr;
    static Function function = nullptr;
    if (library != variant.library) {
      library = variant.library;
      function = reinterpret_cast<Function>(::dlsym(library, "cuCtxGetCurrent"));
    }
    CUcontext context = nullptr;
    must(function(&context), "cuCtxGetCurrent");
  });
}

}  // namespace cuvmm::bench
