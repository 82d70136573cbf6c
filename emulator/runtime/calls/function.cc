// SPDX-License-Identifier: Apache-2.0
// Questions about kernels before a launch.
#include "emulator/runtime/calls/call.h"
#include "emulator/runtime/registered.h"

namespace cuvmm::runtime {

namespace {

/// The first fields of cudaFuncAttributes in CUDA 12 and 13. The other fields are not written.
struct Attributes {
  std::size_t shared_bytes, constant_bytes, local_bytes;
  int threads_per_block, registers, ptx_version, binary_version, cache_mode;
  int dynamic_shared_bytes, shared_carveout;
};

// A kernel's function in the current context. A kernel that nobody registered has none, and gets
// the answers of a kernel that needs few resources.
Error find_function(const Driver& driver, const void* kernel, CUfunction& function) {
  function = nullptr;
  if (!kernel) return cudaErrorInvalidDeviceFunction;
  CUkernel found = nullptr;
  const Error error = find_kernel(driver, kernel, found);
  return error == cudaSuccess && found ? ask(driver.cuKernelGetFunction, &function, found) : error;
}

int attribute(const Driver& driver, CUdevice_attribute which) {
  int value = 0;
  ask(driver.cuDeviceGetAttribute, &value, which, current_device(driver));
  return value;
}

// CUB chooses its kernels by the version of the code, so it must be the true one.
Error describe(const Driver& driver, const void* kernel, Attributes& out) {
  CUfunction function = nullptr;
  const Error found = find_function(driver, kernel, function);
  if (found != cudaSuccess) return found;
  const auto of = [&](CUfunction_attribute which, int other) {
    int value = other;
    if (function) ask(driver.cuFuncGetAttribute, &value, which, function);
    return value;
  };
  const auto bytes = [&](CUfunction_attribute which) {
    return static_cast<std::size_t>(of(which, 0));
  };
  constexpr int kRegisters = 32, kPreferNoCarveout = -1;
  const int version = 10 * attribute(driver, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                      attribute(driver, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  const CodeVersion code = code_version(kernel, version);
  out = {};
  out.shared_bytes = bytes(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  out.constant_bytes = bytes(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
  out.local_bytes = bytes(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  out.threads_per_block = of(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                             attribute(driver, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
  out.registers = of(CU_FUNC_ATTRIBUTE_NUM_REGS, kRegisters);
  out.ptx_version = code.ptx != 0 ? code.ptx : version;
  out.binary_version = code.binary != 0 ? code.binary : version;
  out.dynamic_shared_bytes = of(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                attribute(driver, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK));
  out.shared_carveout = of(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, kPreferNoCarveout);
  return cudaSuccess;
}

// The blocks of a kernel of which nothing is known.
int blocks_by_threads(const Driver& driver, int threads) {
  const int most = attribute(driver, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  return threads > most
             ? 0
             : attribute(driver, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / threads;
}

Error occupancy(const Driver& driver, int* blocks, const void* kernel, int threads,
                std::size_t shared, unsigned flags) {
  if (!blocks || threads <= 0) return cudaErrorInvalidValue;
  CUfunction function = nullptr;
  const Error found = find_function(driver, kernel, function);
  if (found != cudaSuccess) return found;
  if (function) {
    return ask(driver.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, blocks, function,
               threads, shared, flags);
  }
  *blocks = blocks_by_threads(driver, threads);
  return cudaSuccess;
}

}  // namespace

CUVMM_RUNTIME_CALL(cudaFuncGetAttributes, (out, kernel), Attributes* out, const void* kernel) {
  return out ? describe(driver, kernel, *out) : cudaErrorInvalidValue;
}

// The attributes have the driver's numbers.
CUVMM_RUNTIME_CALL(cudaFuncSetAttribute, (kernel, which, value), const void* kernel, int which,
                   int value) {
  CUfunction function = nullptr;
  const Error found = find_function(driver, kernel, function);
  if (found != cudaSuccess || !function) return found;
  return ask(driver.cuFuncSetAttribute, function, static_cast<CUfunction_attribute>(which), value);
}
CUVMM_RUNTIME_CALL(cudaFuncSetCacheConfig, (kernel, wish), const void* kernel, int wish) {
  CUfunction function = nullptr;
  const Error found = find_function(driver, kernel, function);
  if (found != cudaSuccess || !function) return found;
  return ask(driver.cuFuncSetCacheConfig, function, static_cast<CUfunc_cache>(wish));
}
// Devices of today have one size of bank.
CUVMM_RUNTIME_CALL(cudaFuncSetSharedMemConfig, (kernel, bank), const void* kernel, int bank) {
  static_cast<void>(bank);
  CUfunction function = nullptr;
  return find_function(driver, kernel, function);
}
CUVMM_RUNTIME_CALL(cudaGetFuncBySymbol, (function, kernel), CUfunction* function,
                   const void* kernel) {
  return function ? find_function(driver, kernel, *function) : cudaErrorInvalidValue;
}
CUVMM_RUNTIME_CALL(cudaFuncGetName, (name, kernel), const char** name, const void* kernel) {
  CUkernel found = nullptr;
  if (!name) return cudaErrorInvalidValue;
  const Error error = find_kernel(driver, kernel, found);
  if (error != cudaSuccess) return error;
  return found ? ask(driver.cuKernelGetName, name, found) : cudaErrorInvalidDeviceFunction;
}
CUVMM_RUNTIME_CALL(cudaFuncGetParamInfo, (kernel, index, offset, size), const void* kernel,
                   std::size_t index, std::size_t* offset, std::size_t* size) {
  CUkernel found = nullptr;
  const Error error = find_kernel(driver, kernel, found);
  if (error != cudaSuccess) return error;
  return found ? ask(driver.cuKernelGetParamInfo, found, index, offset, size)
               : cudaErrorInvalidDeviceFunction;
}

CUVMM_RUNTIME_CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor, (blocks, kernel, threads, shared),
                   int* blocks, const void* kernel, int threads, std::size_t shared) {
  return occupancy(driver, blocks, kernel, threads, shared, CU_OCCUPANCY_DEFAULT);
}
CUVMM_RUNTIME_CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
                   (blocks, kernel, threads, shared, flags), int* blocks, const void* kernel,
                   int threads, std::size_t shared, unsigned flags) {
  return occupancy(driver, blocks, kernel, threads, shared, flags);
}
CUVMM_RUNTIME_CALL(cudaOccupancyAvailableDynamicSMemPerBlock, (bytes, kernel, blocks, threads),
                   std::size_t* bytes, const void* kernel, int blocks, int threads) {
  CUfunction function = nullptr;
  const Error found = find_function(driver, kernel, function);
  if (found != cudaSuccess) return found;
  return ask(driver.cuOccupancyAvailableDynamicSMemPerBlock, bytes, function, blocks, threads);
}

namespace {
/// cudaLaunchConfig_t.
struct ClusterLaunch {
  unsigned grid[3], block[3];
  std::size_t shared_bytes;
  CUstream stream;
  CUlaunchAttribute* attributes;
  unsigned count;
};
}  // namespace

template <class Question>
static Error ask_of_clusters(const Driver& driver, const Question& question, int* answer,
                             const void* kernel, const ClusterLaunch* launch) {
  if (!launch) return cudaErrorInvalidValue;
  CUfunction function = nullptr;
  const Error found = find_function(driver, kernel, function);
  if (found != cudaSuccess) return found;
  if (!function) return cudaErrorInvalidDeviceFunction;
  const CUlaunchConfig config{launch->grid[0],
                              launch->grid[1],
                              launch->grid[2],
                              launch->block[0],
                              launch->block[1],
                              launch->block[2],
                              static_cast<unsigned>(launch->shared_bytes),
                              launch->stream,
                              launch->attributes,
                              launch->count};
  return ask(question, answer, function, &config);
}
CUVMM_RUNTIME_CALL(cudaOccupancyMaxActiveClusters, (clusters, kernel, launch), int* clusters,
                   const void* kernel, const ClusterLaunch* launch) {
  return ask_of_clusters(driver, driver.cuOccupancyMaxActiveClusters, clusters, kernel, launch);
}
CUVMM_RUNTIME_CALL(cudaOccupancyMaxPotentialClusterSize, (blocks, kernel, launch), int* blocks,
                   const void* kernel, const ClusterLaunch* launch) {
  return ask_of_clusters(driver, driver.cuOccupancyMaxPotentialClusterSize, blocks, kernel, launch);
}

}  // namespace cuvmm::runtime
