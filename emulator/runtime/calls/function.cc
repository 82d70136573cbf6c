// SPDX-License-Identifier: Apache-2.0
// Queries of kernels before a launch. The runtime's kernels are not read (launch.cc), so every
// kernel gets the attributes of a kernel that needs few resources, and the version of its code.
#include <algorithm>

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

constexpr int kRegisters = 32;
constexpr int kWarp = 32;
constexpr int kPreferNoCarveout = -1;

int attribute(const Driver& driver, CUdevice_attribute which) {
  int value = 0;
  ask(driver.cuDeviceGetAttribute, &value, which, current_device(driver));
  return value;
}

// CUB chooses what it launches by the version of the code, so it must be the true one.
Error describe(const Driver& driver, const void* function, Attributes& out) {
  const int version = 10 * attribute(driver, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                      attribute(driver, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  out = {};
  out.threads_per_block = attribute(driver, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  out.registers = kRegisters;
  const CodeVersion code = code_version(function, version);
  out.ptx_version = code.ptx != 0 ? code.ptx : version;
  out.binary_version = code.binary != 0 ? code.binary : version;
  out.dynamic_shared_bytes = attribute(driver, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  out.shared_carveout = kPreferNoCarveout;
  return cudaSuccess;
}

Error occupancy(const Driver& driver, int* blocks, const void* function, int threads,
                std::size_t shared) {
  if (!blocks || threads <= 0) return cudaErrorInvalidValue;
  if (!function) return cudaErrorInvalidDeviceFunction;
  const int most = attribute(driver, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  const int for_block = attribute(driver, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  *blocks = 0;
  if (threads > most || shared > static_cast<std::size_t>(for_block)) return cudaSuccess;
  const int rounded = (threads + kWarp - 1) / kWarp * kWarp;
  const int by_threads =
      attribute(driver, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / rounded;
  const int by_registers = attribute(driver, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR) /
                           (kRegisters * rounded);
  const int reserved = attribute(driver, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
  const int by_shared =
      attribute(driver, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) /
      std::max(1, static_cast<int>(shared) + reserved);
  *blocks = std::min({attribute(driver, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR),
                      by_threads, by_registers, by_shared});
  return cudaSuccess;
}

Error check(const void* function) {
  return function ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

}  // namespace

CUVMM_RUNTIME_CALL(cudaFuncGetAttributes, (out, function), Attributes* out, const void* function) {
  if (!out) return cudaErrorInvalidValue;
  return function ? describe(driver, function, *out) : cudaErrorInvalidDeviceFunction;
}

// The attributes are hints, which change nothing here.
CUVMM_RUNTIME_CALL(cudaFuncSetAttribute, (function, which, value), const void* function, int which,
                   int value) {
  static_cast<void>(which), static_cast<void>(value);
  return check(function);
}
CUVMM_RUNTIME_CALL(cudaFuncSetCacheConfig, (function, wish), const void* function, int wish) {
  static_cast<void>(wish);
  return check(function);
}

CUVMM_RUNTIME_CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor,
                   (blocks, function, threads, shared), int* blocks, const void* function,
                   int threads, std::size_t shared) {
  return occupancy(driver, blocks, function, threads, shared);
}
CUVMM_RUNTIME_CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
                   (blocks, function, threads, shared, flags), int* blocks, const void* function,
                   int threads, std::size_t shared, unsigned flags) {
  static_cast<void>(flags);
  return occupancy(driver, blocks, function, threads, shared);
}

}  // namespace cuvmm::runtime
