// SPDX-License-Identifier: Apache-2.0
// Kernel launches. A kernel that nobody registered is skipped, so that a program that launches such
// kernels continues: the emulator reports and counts the launches. Another libcuda, which lacks the
// table of this runtime, makes these fail.
#include <algorithm>
#include <iterator>

#include "emulator/entry/runtime_table.h"
#include "emulator/runtime/calls/call.h"
#include "emulator/runtime/registered.h"

namespace cuvmm::runtime {

namespace {

/// dim3.
struct Extent {
  unsigned x, y, z;
  bool empty() const { return x == 0 || y == 0 || z == 0; }
};

/// cudaLaunchConfig_t.
struct LaunchConfig {
  Extent grid, block;
  std::size_t shared_bytes;
  CUstream stream;
  CUlaunchAttribute* attributes = nullptr;
  unsigned count = 0;
};

/// The parameters of `kernel<<<...>>>`, which come before its arguments are evaluated; the
/// arguments may launch other kernels.
struct Configuration {
  Extent grid, block;
  std::size_t shared_bytes;
  CUstream stream;
};
constexpr int kMostNested = 16;
thread_local Configuration t_configurations[kMostNested];
thread_local int t_nested = 0;

const RuntimeTable* find_table(const Driver& driver) {
  CUuuid id{};
  std::copy(std::begin(kRuntimeTableId), std::end(kRuntimeTableId), id.bytes);
  const void* table = nullptr;
  const bool emulated = ask(driver.cuGetExportTable, &table, &id) == cudaSuccess && table;
  return emulated ? static_cast<const RuntimeTable*>(table) : nullptr;
}

/// A launch, as the functions for it describe it.
struct Launch {
  const char* name;
  const void* function;  ///< or the handle of a kernel
  LaunchConfig config;
  void** arguments;
  bool together = false;  ///< all blocks run at a time
};

bool possible(const Extent& grid, const Extent& block) {
  constexpr unsigned kThreads = 1024, kDeep = 64, kGrid = 65535;
  return !grid.empty() && !block.empty() && grid.y <= kGrid && grid.z <= kGrid &&
         block.x <= kThreads && block.y <= kThreads && block.z <= kDeep &&
         block.x * block.y * block.z <= kThreads;
}

// A function that nobody registered, in a library whose start-up code did not run here.
Error skip(const RuntimeTable* table, const Launch& launch, CUstream stream) {
  if (!table) return cudaErrorNotSupported;
  return error_of(static_cast<CUresult>(table->queue_launch(launch.name, stream)));
}

Error start(const Driver& driver, const Launch& launch, CUkernel kernel, CUstream stream) {
  const auto function = reinterpret_cast<CUfunction>(kernel);
  // NOLINTNEXTLINE(misc-misplaced-const): a reference to the fields
  const auto& [grid, block, shared, unused, attributes, count] = launch.config;
  const auto bytes = static_cast<unsigned>(shared);
  if (count != 0) {
    const CUlaunchConfig config{grid.x,  grid.y, grid.z, block.x,    block.y,
                                block.z, bytes,  stream, attributes, count};
    return ask(driver.cuLaunchKernelEx, &config, function, launch.arguments, nullptr);
  }
  if (launch.together) {
    return ask(driver.cuLaunchCooperativeKernel, function, grid.x, grid.y, grid.z, block.x, block.y,
               block.z, bytes, stream, launch.arguments);
  }
  return ask(driver.cuLaunchKernel, function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
             bytes, stream, launch.arguments, nullptr);
}

Error run(Streams streams, const Launch& launch) {
  // `<<<>>>` drops this launch's answer, too, so the next call has that of an earlier one.
  const Error earlier = refused_before();
  const Error answer = in_context(streams, [&](const Driver& driver) -> Error {
    if (!launch.function) return cudaErrorInvalidDeviceFunction;
    if (!possible(launch.config.grid, launch.config.block)) return cudaErrorInvalidConfiguration;
    if (launch.config.shared_bytes > ~0U) return cudaErrorInvalidValue;
    CUstream stream = launch.config.stream;
    if (!stream && streams == Streams::kPerThread) stream = CU_STREAM_PER_THREAD;
    CUkernel kernel = nullptr;
    const Error found = find_kernel(driver, launch.function, kernel);
    if (found != cudaSuccess) return found;
    if (!kernel) {
      static const RuntimeTable* const table = find_table(driver);
      if (table && !table->is_kernel(launch.function)) return skip(table, launch, stream);
      kernel = static_cast<CUkernel>(const_cast<void*>(launch.function));
    }
    const Error error = start(driver, launch, kernel, stream);
    // The other launches are functions whose result a program sees.
    if (error == cudaErrorNotSupported && launch.config.count == 0 && !launch.together)
      answer_next_call(error);
    return error;
  });
  if (earlier != cudaSuccess) answer_next_call(earlier);
  return answer;
}

Error run(Streams streams, const char* name, const LaunchConfig* config, const void* function,
          void** arguments) {
  if (!config) return keep(cudaErrorInvalidValue);
  return run(streams, {name, function, *config, arguments});
}

Error get_kernel(CUkernel* kernel, const void* function) {
  return in_context(Streams::kLegacy, [&](const Driver& driver) -> Error {
    if (!kernel || !function) return cudaErrorInvalidValue;
    const Error error = find_kernel(driver, function, *kernel);
    // The address of an unknown function serves as its handle.
    if (!*kernel) *kernel = static_cast<CUkernel>(const_cast<void*>(function));
    return error;
  });
}

}  // namespace

CUVMM_EXPORT(unsigned, __cudaPushCallConfiguration, Extent grid, Extent block,
             std::size_t shared_bytes, CUstream stream) {
  if (t_nested == kMostNested) return 1;  // the launch is omitted
  t_configurations[t_nested++] = {grid, block, shared_bytes, stream};
  return 0;
}

CUVMM_EXPORT(Error, __cudaPopCallConfiguration, Extent* grid, Extent* block,
             std::size_t* shared_bytes, CUstream* stream) {
  if (t_nested == 0) return keep(cudaErrorMissingConfiguration);
  const Configuration& last = t_configurations[--t_nested];
  *grid = last.grid;
  *block = last.block;
  *shared_bytes = last.shared_bytes;
  *stream = last.stream;
  return cudaSuccess;
}

// nvcc's code since CUDA 12 asks for the kernel's handle, and launches by it. It asks in the middle
// of an expression, and only at the launch looks at an error: so a kernel that cannot be found gets
// its function's address as its handle.
CUVMM_EXPORT(Error, __cudaGetKernel, CUkernel* kernel, const void* function) {
  if (!kernel || !function) return keep(cudaErrorInvalidValue);
  *kernel = static_cast<CUkernel>(const_cast<void*>(function));
  return cudaSuccess;
}
CUVMM_EXPORT(Error, cudaGetKernel, CUkernel* kernel, const void* function) {
  return get_kernel(kernel, function);
}

// (function, grid, block, arguments, shared bytes, stream)
#define CUVMM_LAUNCH(symbol, together)                                                           \
  CUVMM_EXPORT(Error, symbol, const void* function, Extent grid, Extent block, void** arguments, \
               std::size_t shared, CUstream stream) {                                            \
    return run(Streams::kLegacy,                                                                 \
               {#symbol, function, {grid, block, shared, stream}, arguments, together});         \
  }                                                                                              \
  CUVMM_EXPORT(Error, symbol##_ptsz, const void* function, Extent grid, Extent block,            \
               void** arguments, std::size_t shared, CUstream stream) {                          \
    return run(Streams::kPerThread,                                                              \
               {#symbol, function, {grid, block, shared, stream}, arguments, together});         \
  }
CUVMM_LAUNCH(cudaLaunchKernel, false)
CUVMM_LAUNCH(cudaLaunchCooperativeKernel, true)
CUVMM_LAUNCH(__cudaLaunchKernel, false)
#undef CUVMM_LAUNCH

// No profiler is attached.
CUVMM_EXPORT(Error, cudaProfilerStart) {
  return in_context(Streams::kLegacy, [](const Driver&) { return cudaSuccess; });
}
CUVMM_EXPORT(Error, cudaProfilerStop) {
  return in_context(Streams::kLegacy, [](const Driver&) { return cudaSuccess; });
}

CUVMM_EXPORT(Error, cudaLaunchKernelExC, const LaunchConfig* config, const void* function,
             void** arguments) {
  return run(Streams::kLegacy, "cudaLaunchKernelExC", config, function, arguments);
}
CUVMM_EXPORT(Error, cudaLaunchKernelExC_ptsz, const LaunchConfig* config, const void* function,
             void** arguments) {
  return run(Streams::kPerThread, "cudaLaunchKernelExC", config, function, arguments);
}

}  // namespace cuvmm::runtime
