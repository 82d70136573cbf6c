// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <chrono>

#include "bench/measure/measure.h"
#include "bench/measure/samples.h"
#include "bench/measure/throughput.h"

namespace cuvmm::bench {

namespace {

constexpr std::size_t kBytes = 64;

// body(variant's position) again and again for each variant in turn, timed `batch` runs at a time;
// ns per run.
template <class Body>
void time_each(const Variants& variants, double seconds, int batch, const std::string& name,
               Results& results, Body body) {
  std::vector<Samples> samples(variants.size());
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < std::chrono::duration<double>(seconds)) {
    for (std::size_t v = 0; v < variants.size(); ++v) {
      for (int i = 0; i < 200; ++i) {
        const std::uint64_t begin = ticks();
        for (int run = 0; run < batch; ++run) body(v);
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
  time_each(variants, seconds, 1, where + "/cuMemcpyHtoD/", results, [&](std::size_t v) {
    must(variants[v].driver(calls::MemcpyHtoD{ptr, host, kBytes}), "cuMemcpyHtoD");
  });
  time_each(variants, seconds, 1, where + "/cuMemsetD8Async/", results, [&](std::size_t v) {
    must(variants[v].driver(calls::MemsetD8Async{ptr, 1, kBytes, nullptr}), "cuMemsetD8Async");
  });
  must(maker(calls::CtxSynchronize{}), "cuCtxSynchronize");
  for (const int count : threads) {
    const auto measured =
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
                   measured.medians[v], 0, measured.turns});
    }
  }
  must(maker(calls::MemFree{ptr}), "cuMemFree");
}

namespace {

// A kernel that does nothing, in the virtual instructions that every driver compiles for itself.
constexpr const char* kNothing =
    ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry nothing() { ret; }\n";

// The function `name` of each variant's library, by position.
template <class Function>
std::vector<Function> functions(const Variants& variants, const char* name) {
  std::vector<Function> found;
  for (const Variant& variant : variants) {
    found.push_back(reinterpret_cast<Function>(::dlsym(variant.library, name)));
  }
  return found;
}

}  // namespace

void measure_other(const Variants& variants, double seconds, Results& results) {
  using GetCurrent = CUresult(CUDAAPI*)(CUcontext*);
  const auto current = functions<GetCurrent>(variants, "cuCtxGetCurrent");
  time_each(variants, seconds, 100, "other/cuCtxGetCurrent/", results, [&](std::size_t v) {
    CUcontext context = nullptr;
    must(current[v](&context), "cuCtxGetCurrent");
  });

  using Load = CUresult(CUDAAPI*)(CUmodule*, const void*);
  using GetFunction = CUresult(CUDAAPI*)(CUfunction*, CUmodule, const char*);
  using Launch = CUresult(CUDAAPI*)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
                                    unsigned, unsigned, CUstream, void**, void**);
  const auto launch = functions<Launch>(variants, "cuLaunchKernel");
  CUmodule module = nullptr;
  CUfunction nothing = nullptr;
  if (functions<Load>(variants, "cuModuleLoadData")[0](&module, kNothing) != CUDA_SUCCESS) return;
  must(functions<GetFunction>(variants, "cuModuleGetFunction")[0](&nothing, module, "nothing"),
       "cuModuleGetFunction");
  unsigned launched = 0;
  time_each(variants, seconds, 1, "other/cuLaunchKernel/", results, [&](std::size_t v) {
    must(launch[v](nothing, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), "cuLaunchKernel");
    // Before the queue is full, which would make a launch wait for the GPU. One launch in 100 has
    // this within its time: the median does not see it.
    if (++launched % 100 == 0) must(variants[v].driver(calls::CtxSynchronize{}), "synchronize");
  });
}

}  // namespace cuvmm::bench
