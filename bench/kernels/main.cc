// SPDX-License-Identifier: Apache-2.0
// cuvmm-bench-kernels: the time that kernels take on a libcuda. With two libraries they take turns,
// each turn in a process of its own, so that disturbances of the machine hit both alike.
#include <cuda.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "bench/kernels/text.h"

namespace cuvmm::bench {
namespace {

constexpr const char* kUsage =
    R"(cuvmm-bench-kernels LIBCUDA [BEFORE] [--rounds N] [--size PERCENT] [--only KERNEL]
  LIBCUDA   the library to measure
  BEFORE    a second library, such as that of an older build; the ratio of both is printed as well
The times are those of this process's threads (CPU time), the least of N rounds (default 5).
)";

// One kernel with a size at which it works for about a tenth of a second.
struct Work {
  const char* kernel;
  const char* unit;  ///< what is counted: `each` of them in a launch
  unsigned grid[2], block[2];
  int number;    ///< the last parameter
  int pointers;  ///< parameters before it, each a buffer
  double each;
  int launches;
};
constexpr unsigned kElements = 1 << 20;
const Work kWorks[] = {
    {"empty", "launches", {1, 1}, {1, 1}, 0, 0, 1, 20000},
    {"multiply_add", "lane-FMA", {16, 1}, {256, 1}, 2000, 1, 16. * 256 * 2000 * 4, 1},
    {"add", "elements", {kElements / 256, 1}, {256, 1}, kElements, 3, kElements, 2},
    {"transpose", "elements", {16, 16}, {32, 8}, 512, 2, 512. * 512, 4},
    {"reduce", "elements", {64, 1}, {256, 1}, kElements, 2, kElements, 2},
    {"hash", "rounds", {16, 1}, {256, 1}, 500, 1, 16. * 256 * 500, 1},
    {"multiply", "lane-FMA", {8, 8}, {16, 16}, 128, 3, 128. * 128 * 128, 4},
};

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

template <class Function>
Function symbol(void* library, const char* name) {
  void* const at = dlsym(library, name);
  if (!at) {
    std::fprintf(stderr, "cuvmm-bench-kernels: no %s\n", name);
    _exit(2);
  }
  return reinterpret_cast<Function>(at);
}

void must(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "cuvmm-bench-kernels: %s answered %d\n", what, static_cast<int>(result));
  _exit(2);
}

// Runs in a process of its own. Gives the seconds of one launch.
double seconds_of_launch(const char* path, const Work& work, double size) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    std::fprintf(stderr, "cuvmm-bench-kernels: %s\n", dlerror());
    _exit(2);
  }
  must(symbol<decltype(&cuInit)>(library, "cuInit")(0), "cuInit");
  CUcontext context = nullptr;
  must(symbol<CUresult (*)(CUcontext*, CUdevice)>(library, "cuDevicePrimaryCtxRetain")(&context, 0),
       "cuDevicePrimaryCtxRetain");
  must(symbol<CUresult (*)(CUcontext)>(library, "cuCtxSetCurrent")(context), "cuCtxSetCurrent");
  CUmodule module = nullptr;
  must(symbol<decltype(&cuModuleLoadData)>(library, "cuModuleLoadData")(&module, kKernels),
       "cuModuleLoadData");
  CUfunction function = nullptr;
  must(symbol<decltype(&cuModuleGetFunction)>(library, "cuModuleGetFunction")(&function, module,
                                                                              work.kernel),
       "cuModuleGetFunction");
  CUdeviceptr buffers[3] = {};
  void* parameters[4] = {};
  constexpr std::size_t kBytes = std::size_t{kElements} * 4;
  for (int i = 0; i < work.pointers; ++i) {
    must(symbol<CUresult (*)(CUdeviceptr*, std::size_t)>(library, "cuMemAlloc_v2")(&buffers[i],
                                                                                   kBytes),
         "cuMemAlloc");
    must(symbol<CUresult (*)(CUdeviceptr, unsigned, std::size_t)>(library, "cuMemsetD32_v2")(
             buffers[i], 0x3f800000, kBytes / 4),
         "cuMemsetD32");
    parameters[i] = &buffers[i];
  }
  int number = work.number;
  parameters[work.pointers] = &number;
  const auto launch = symbol<decltype(&cuLaunchKernel)>(library, "cuLaunchKernel");
  const auto wait = symbol<decltype(&cuCtxSynchronize)>(library, "cuCtxSynchronize");
  const auto once = [&] {
    must(launch(function, work.grid[0], work.grid[1], 1, work.block[0], work.block[1], 1, 0,
                nullptr, parameters, nullptr),
         "cuLaunchKernel");
    must(wait(), "cuCtxSynchronize");
  };
  once();
  const int times = std::max(1, static_cast<int>(work.launches * size));
  const double before = cpu_seconds();
  for (int i = 0; i < times; ++i) once();
  return (cpu_seconds() - before) / times;
}

double in_a_process(const char* path, const Work& work, double size) {
  int ends[2];
  if (pipe(ends) != 0) return 0;
  const pid_t child = fork();
  if (child == 0) {
    const double seconds = seconds_of_launch(path, work, size);
    _exit(write(ends[1], &seconds, sizeof seconds) == sizeof seconds ? 0 : 2);
  }
  close(ends[1]);
  double seconds = 0;
  const bool known = read(ends[0], &seconds, sizeof seconds) == sizeof seconds;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return known && status == 0 ? seconds : 0;
}

int run(int argc, char** argv) {
  std::vector<const char*> libraries;
  int rounds = 5;
  double size = 1;
  std::string only;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool option = word == "--rounds" || word == "--size" || word == "--only";
    if ((option && i + 1 == argc) || (!option && word.starts_with('-')))
      libraries.clear(), i = argc;
    if (i == argc) break;
    if (!option) libraries.push_back(argv[i]);
    if (word == "--rounds")
      rounds = std::max(1, static_cast<int>(std::strtol(argv[++i], nullptr, 10)));
    if (word == "--size") size = std::strtod(argv[++i], nullptr) / 100;
    if (word == "--only") only = argv[++i];
  }
  if (libraries.empty() || libraries.size() > 2) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  std::printf("%-14s %12s", "kernel", "us/launch");
  std::printf("%12s  %-10s%s\n", "M/s", "unit", libraries.size() == 2 ? "   before  ratio" : "");
  for (const Work& work : kWorks) {
    if (!only.empty() && only != work.kernel) continue;
    std::vector<double> least(libraries.size(), 1e9);
    for (int round = 0; round < rounds; ++round) {
      for (std::size_t k = 0; k < libraries.size(); ++k) {
        const double seconds = in_a_process(libraries[k], work, size);
        if (seconds == 0) return 1;
        least[k] = std::min(least[k], seconds);
      }
    }
    std::printf("%-14s %12.2f %11.3f  %-10s", work.kernel, least[0] * 1e6,
                work.each / least[0] * 1e-6, work.unit);
    if (libraries.size() == 2)
      std::printf(" %8.3f %6.2f", work.each / least[1] * 1e-6, least[1] / least[0]);
    std::printf("\n");
  }
  return 0;
}

}  // namespace
}  // namespace cuvmm::bench

int main(int argc, char** argv) { return cuvmm::bench::run(argc, argv); }
