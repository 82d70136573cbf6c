// SPDX-License-Identifier: Apache-2.0
#include "emulator/code/occupancy.h"

#include <algorithm>

#include "emulator/code/function.h"
#include "emulator/core/export.h"
#include "emulator/core/locked.h"
#include "emulator/machine/device_attributes.h"

namespace cuvmm::emulator {

namespace {

constexpr int kWarp = 32;              // threads
constexpr int kAssumedRegisters = 32;  // where the image does not give the number

int device_attribute(int attribute) { return default_attribute(attribute).value_or(0); }

// A driver does not look at .reqntid here (an H100).
CUresult occupancy(int* blocks, CUfunction handle, int threads, std::size_t shared,
                   unsigned flags) noexcept {
  return on_function(handle, [&](Function& function) -> CUresult {
    const bool known = (flags & ~unsigned{CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE}) == 0;
    if (!blocks || threads <= 0 || !known) return CUDA_ERROR_INVALID_VALUE;
    *blocks = active_blocks(function.code, function.settings, threads, shared);
    return CUDA_SUCCESS;
  });
}

// The program's function is called without the emulator's lock.
CUresult potential(int* grid, int* block, CUfunction handle, CUoccupancyB2DSize shared_of,
                   std::size_t shared, int limit) noexcept {
  kernels::KernelCode code;
  Settings settings;
  const CUresult known = on_function(handle, [&](Function& function) -> CUresult {
    code = function.code;
    settings = function.settings;
    return grid && block ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
  if (known != CUDA_SUCCESS) return known;
  int most = code.exact_threads ? device_attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
                                : thread_limit(code);
  if (limit > 0) most = std::min(most, limit);
  int best = 0, best_threads = 0, best_blocks = 0;
  for (int threads = most; threads > 0; threads = (threads - 1) / kWarp * kWarp) {
    const int blocks =
        active_blocks(code, settings, threads, shared_of ? shared_of(threads) : shared);
    if (blocks * threads <= best) continue;
    best = blocks * threads;
    best_threads = threads;
    best_blocks = blocks;
  }
  *block = best_threads;
  *grid = best_blocks * device_attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  return CUDA_SUCCESS;
}

int config_threads(const CUlaunchConfig& config) {
  return static_cast<int>(config.blockDimX * config.blockDimY * config.blockDimZ);
}

// The blocks of a cluster of the launch; 0: the grid cannot be divided so.
unsigned cluster_blocks(const CUlaunchConfig& config) {
  unsigned blocks = 1;
  for (unsigned i = 0; config.attrs && i < config.numAttrs; ++i) {
    if (config.attrs[i].id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
    const auto& cluster = config.attrs[i].value.clusterDim;
    if (cluster.x == 0 || cluster.y == 0 || cluster.z == 0) return 0;
    if (config.gridDimX % cluster.x || config.gridDimY % cluster.y || config.gridDimZ % cluster.z)
      return 0;
    blocks = cluster.x * cluster.y * cluster.z;
  }
  return blocks;
}

}  // namespace

int registers_of(const kernels::KernelCode& code) {
  return code.registers ? code.registers : kAssumedRegisters;
}

int thread_limit(const kernels::KernelCode& code) {
  const int most = device_attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  return code.most_threads > 0 ? std::min(most, code.most_threads) : most;
}

unsigned cluster_limit(const Settings& settings) {
  constexpr unsigned kPortable = 8, kMost = 16;  // blocks, compute capability 9.0
  const bool larger =
      settings[CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED].value_or(0) != 0;
  return larger ? kMost : kPortable;
}

int dynamic_shared_limit(const kernels::KernelCode& code, const Settings& settings) {
  return settings[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES].value_or(
      device_attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK) - code.shared_bytes);
}

int active_blocks(const kernels::KernelCode& code, const Settings& settings, int threads,
                  std::size_t dynamic_shared) {
  if (threads <= 0 || threads > device_attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK))
    return 0;
  const int limit = dynamic_shared_limit(code, settings);
  if (dynamic_shared != 0 && (limit < 0 || dynamic_shared > static_cast<std::size_t>(limit)))
    return 0;
  const int shared = code.shared_bytes + static_cast<int>(dynamic_shared);
  if (shared > device_attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)) return 0;
  const int warps = (threads + kWarp - 1) / kWarp;
  const int by_threads =
      device_attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / (warps * kWarp);
  const int by_registers = device_attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR) /
                           (registers_of(code) * warps * kWarp);
  const int by_shared =
      device_attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) /
      (shared + device_attribute(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK));
  return std::min({device_attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR), by_threads,
                   by_registers, by_shared});
}

CUVMM_DRIVER_FUNCTION(cuOccupancyMaxActiveBlocksPerMultiprocessor, int* blocks, CUfunction handle,
                      int threads, size_t shared) {
  return occupancy(blocks, handle, threads, shared, CU_OCCUPANCY_DEFAULT);
}

CUVMM_DRIVER_FUNCTION(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int* blocks,
                      CUfunction handle, int threads, size_t shared, unsigned flags) {
  return occupancy(blocks, handle, threads, shared, flags);
}

CUVMM_DRIVER_FUNCTION(cuOccupancyMaxPotentialBlockSize, int* grid, int* block, CUfunction handle,
                      CUoccupancyB2DSize shared_of, size_t shared, int limit) {
  return potential(grid, block, handle, shared_of, shared, limit);
}

CUVMM_DRIVER_FUNCTION(cuOccupancyMaxPotentialBlockSizeWithFlags, int* grid, int* block,
                      CUfunction handle, CUoccupancyB2DSize shared_of, size_t shared, int limit,
                      unsigned) {
  return potential(grid, block, handle, shared_of, shared, limit);
}

// A driver divides the multiprocessor's shared memory among the blocks (an H100).
CUVMM_DRIVER_FUNCTION(cuOccupancyAvailableDynamicSMemPerBlock, size_t* bytes, CUfunction handle,
                      int blocks, int threads) {
  return on_function(handle, [&](Function& function) -> CUresult {
    const bool possible = bytes && blocks > 0 && threads > 0 &&
                          active_blocks(function.code, function.settings, threads, 0) >= blocks;
    if (!possible) return CUDA_ERROR_INVALID_VALUE;
    const int each = std::min(
        device_attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) / blocks,
        device_attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
    *bytes = static_cast<std::size_t>(std::max(each - function.code.shared_bytes, 0));
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuOccupancyMaxPotentialClusterSize, int* blocks, CUfunction handle,
                      const CUlaunchConfig* config) {
  return on_function(handle, [&](Function& function) -> CUresult {
    if (!blocks || !config) return CUDA_ERROR_INVALID_VALUE;
    const int held = active_blocks(function.code, function.settings, config_threads(*config),
                                   config->sharedMemBytes);
    *blocks = held == 0 ? 0 : static_cast<int>(cluster_limit(function.settings));
    return CUDA_SUCCESS;
  });
}

// How a GPU groups its multiprocessors is not known here, so clusters of more than two blocks,
// which lie in one group, may be fewer on a GPU.
CUVMM_DRIVER_FUNCTION(cuOccupancyMaxActiveClusters, int* clusters, CUfunction handle,
                      const CUlaunchConfig* config) {
  return on_function(handle, [&](Function& function) -> CUresult {
    const int threads = config ? config_threads(*config) : 0;
    if (!clusters || threads <= 0) return CUDA_ERROR_INVALID_VALUE;
    const unsigned width = cluster_blocks(*config);
    if (config->numAttrs == 0) {
      *clusters = 0;
      return CUDA_SUCCESS;
    }
    if (width == 0 || width > cluster_limit(function.settings))
      return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    constexpr int kMost = 8;  // blocks of clusters on a multiprocessor, of an H100
    const int blocks = std::min(
        kMost, active_blocks(function.code, function.settings, threads, config->sharedMemBytes));
    const int processors = device_attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    *clusters = blocks * processors / static_cast<int>(width);
    return CUDA_SUCCESS;
  });
}

}  // namespace cuvmm::emulator
