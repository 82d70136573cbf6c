// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "bench/measure/time_each.h"

namespace cuvmm::bench {

namespace {

constexpr std::size_t kPointers = 16;

// Kernels that do nothing, as PTX, which every driver compiles for its GPU.
std::string image() {
  std::string parameters;
  for (std::size_t i = 0; i < kPointers; ++i) {
    parameters += (i == 0 ? ".param .u64 .ptr p" : ", .param .u64 .ptr p") + std::to_string(i);
  }
  return ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry nothing() { ret; }\n"
         ".visible .entry pointers(" +
         parameters + ") { ret; }\n";
}

using Load = CUresult(CUDAAPI*)(CUmodule*, const void*);
using GetFunction = CUresult(CUDAAPI*)(CUfunction*, CUmodule, const char*);
using Launch = CUresult(CUDAAPI*)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
                                  unsigned, unsigned, CUstream, void**, void**);

// The arguments of a kernel: pointers into the mappings, as far apart as these are many. Without
// mappings, the arguments are addresses that no shim knows.
struct Arguments {
  Arguments(const LiveMappings& mappings, std::size_t live) {
    for (std::size_t i = 0; i < kPointers; ++i) {
      values[i] = mappings.base() + i * (live / kPointers) * kGranule;
      places[i] = &values[i];
    }
  }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  std::array<CUdeviceptr, kPointers> values{};
  std::array<void*, kPointers> places{};
};

}  // namespace

void launch_pointers(const Variant& variant, std::size_t live, int times) {
  const LiveMappings mappings(variant.driver, live);
  mappings.give_access();
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  must(functions<Load>({variant}, "cuModuleLoadData")[0](&module, image().c_str()),
       "cuModuleLoadData");
  must(functions<GetFunction>({variant}, "cuModuleGetFunction")[0](&function, module, "pointers"),
       "cuModuleGetFunction");
  const Launch launch = functions<Launch>({variant}, "cuLaunchKernel")[0];
  Arguments arguments(mappings, live);
  for (int i = 0; i < times; ++i) {
    must(launch(function, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments.places.data(), nullptr),
         "cuLaunchKernel");
  }
  must(variant.driver(calls::CtxSynchronize{}), "cuCtxSynchronize");
}

void measure_launches(const Variants& variants, const std::string& where, std::size_t live,
                      double seconds, Results& results) {
  const Driver& maker = variants.back().driver;
  const LiveMappings mappings(maker, live);
  mappings.give_access();
  CUmodule module = nullptr;
  if (functions<Load>(variants, "cuModuleLoadData")[0](&module, image().c_str()) != CUDA_SUCCESS) {
    return;
  }
  const GetFunction get = functions<GetFunction>(variants, "cuModuleGetFunction")[0];
  const auto launch = functions<Launch>(variants, "cuLaunchKernel");
  Arguments arguments(mappings, live);
  auto& values = arguments.values;
  // "moving": each launch gets different addresses inside the same mappings.
  const std::array<CUdeviceptr, kPointers> bases = values;
  std::size_t launches = 0;
  for (const std::string kernel : {"nothing", "pointers", "moving"}) {
    const bool moves = kernel == "moving";
    CUfunction function = nullptr;
    must(get(&function, module, moves ? "pointers" : kernel.c_str()), "cuModuleGetFunction");
    // Keeps the queue from getting full, because a launch would then wait for the GPU.
    time_each(
        variants, seconds, 1, where + "/" + kernel + "/", results,
        [&](std::size_t v) {
          if (moves) {
            const std::size_t at = ++launches * 256 % kGranule;
            for (std::size_t i = 0; i < kPointers; ++i) values[i] = bases[i] + at;
          }
          must(launch[v](function, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments.places.data(), nullptr),
               "cuLaunchKernel");
        },
        [&](std::size_t v) {
          must(variants[v].driver(calls::CtxSynchronize{}), "cuCtxSynchronize");
        });
  }
  using Unload = CUresult(CUDAAPI*)(CUmodule);
  must(functions<Unload>(variants, "cuModuleUnload")[0](module), "cuModuleUnload");
}

}  // namespace cuvmm::bench
