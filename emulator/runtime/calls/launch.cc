// SPDX-License-Identifier: Apache-2.0
// Kernel launches: the emulator runs no kernel of the runtime, but a program that launches kernels
// continues. The emulator reports and counts the launches; another libcuda, which lacks the table
// of this runtime, makes them fail.
#include <algorithm>
#include <iterator>

#include "emulator/entry/runtime_table.h"
#include "emulator/runtime/calls/call.h"

namespace cuvmm::runtime {

namespace {

/// dim3.
struct Extent {
  unsigned x, y, z;
  bool empty() const { return x == 0 || y == 0 || z == 0; }
};

/// The first fields of cudaLaunchConfig_t.
struct LaunchConfig {
  Extent grid, block;
  std::size_t shared_bytes;
  CUstream stream;
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
  const bool ours = ask(driver.cuGetExportTable, &table, &id) == cudaSuccess && table;
  return ours ? static_cast<const RuntimeTable*>(table) : nullptr;
}

Error skip(Streams streams, const char* name, const void* function, const Extent& grid,
           const Extent& block, CUstream stream) {
  return in_context(streams, [&](const Driver& driver) -> Error {
    if (!function) return cudaErrorInvalidDeviceFunction;
    if (grid.empty() || block.empty()) return cudaErrorInvalidConfiguration;
    static const RuntimeTable* const table = find_table(driver);
    if (!table) return cudaErrorNotSupported;
    if (!stream && streams == Streams::kPerThread) stream = CU_STREAM_PER_THREAD;
    return error_of(static_cast<CUresult>(table->queue_launch(name, stream)));
  });
}

Error skip(Streams streams, const char* name, const LaunchConfig* config, const void* function) {
  if (!config) return keep(cudaErrorInvalidValue);
  return skip(streams, name, function, config->grid, config->block, config->stream);
}

Error find_kernel(const void** kernel, const void* function) {
  if (!kernel || !function) return keep(cudaErrorInvalidValue);
  *kernel = function;  // only its address is known
  return cudaSuccess;
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

// Launches by a kernel's handle use this function since CUDA 12: the function's address serves as
// the handle.
CUVMM_EXPORT(Error, __cudaGetKernel, const void** kernel, const void* function) {
  return find_kernel(kernel, function);
}
CUVMM_EXPORT(Error, cudaGetKernel, const void** kernel, const void* function) {
  return find_kernel(kernel, function);
}

// (function, grid, block, arguments, shared bytes, stream); the kernel's arguments are ignored.
#define CUVMM_LAUNCH(symbol)                                                                  \
  CUVMM_EXPORT(Error, symbol, const void* function, Extent grid, Extent block, void**,        \
               std::size_t, CUstream stream) {                                                \
    return skip(Streams::kLegacy, #symbol, function, grid, block, stream);                    \
  }                                                                                           \
  CUVMM_EXPORT(Error, symbol##_ptsz, const void* function, Extent grid, Extent block, void**, \
               std::size_t, CUstream stream) {                                                \
    return skip(Streams::kPerThread, #symbol, function, grid, block, stream);                 \
  }
CUVMM_LAUNCH(cudaLaunchKernel)
CUVMM_LAUNCH(cudaLaunchCooperativeKernel)
CUVMM_LAUNCH(__cudaLaunchKernel)
#undef CUVMM_LAUNCH

// No profiler is attached.
CUVMM_EXPORT(Error, cudaProfilerStart) {
  return in_context(Streams::kLegacy, [](const Driver&) { return cudaSuccess; });
}
CUVMM_EXPORT(Error, cudaProfilerStop) {
  return in_context(Streams::kLegacy, [](const Driver&) { return cudaSuccess; });
}

CUVMM_EXPORT(Error, cudaLaunchKernelExC, const LaunchConfig* config, const void* function, void**) {
  return skip(Streams::kLegacy, "cudaLaunchKernelExC", config, function);
}
CUVMM_EXPORT(Error, cudaLaunchKernelExC_ptsz, const LaunchConfig* config, const void* function,
             void**) {
  return skip(Streams::kPerThread, "cudaLaunchKernelExC", config, function);
}

}  // namespace cuvmm::runtime
