// SPDX-License-Identifier: Apache-2.0
// cuFunc* and cuOccupancy*: the contents of a kernel's image, and their effect on a GPU of the
// emulated kind.
#include <algorithm>

#include "emulator/code/function.h"
#include "emulator/code/loading.h"
#include "emulator/core/export.h"
#include "emulator/core/locked.h"
#include "emulator/machine/device_attributes.h"

namespace cuvmm::emulator {

namespace {

constexpr int kArchitecture = 90;
constexpr int kAssumedRegisters = 32;  // where the image does not give the number

int default_dynamic_shared(const kernels::KernelCode& code) {
  return default_attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK).value_or(0) -
         code.shared_bytes;
}

int device_attribute(int attribute) { return default_attribute(attribute).value_or(0); }

int most_threads(const kernels::KernelCode& code) {
  const int most = device_attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  return code.most_threads > 0 ? std::min(most, code.most_threads) : most;
}

}  // namespace

CUresult find_function(Emulator& e, Context& context, CUfunction handle, Function*& function) {
  Modules& modules = e.modules;
  function = modules.find(handle);
  if (function) return CUDA_SUCCESS;
  const Kernel* kernel = modules.find(reinterpret_cast<CUkernel>(handle));
  if (!kernel) return CUDA_ERROR_INVALID_HANDLE;
  Module* module = nullptr;
  const CUresult result = in_context(e, context, kernel->image->library, module);
  if (result == CUDA_SUCCESS) function = modules.find(modules.function(*module, kernel->name));
  return result;
}

namespace {

template <class Body>
CUresult on_function(CUfunction handle, Body&& body) noexcept {
  return with_context([&](Emulator& e, Context& context) -> CUresult {
    Function* function = nullptr;
    const CUresult found = find_function(e, context, handle, function);
    return found == CUDA_SUCCESS ? body(*function) : found;
  });
}

int most_dynamic_shared(const kernels::KernelCode& code) {
  return device_attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) -
         code.shared_bytes;
}

CUresult occupancy(int* blocks, CUfunction handle, int threads, std::size_t shared) noexcept {
  return on_function(handle, [&](Function& function) -> CUresult {
    if (!blocks || threads <= 0) return CUDA_ERROR_INVALID_VALUE;
    *blocks = active_blocks(function.code, threads, shared);
    return CUDA_SUCCESS;
  });
}

// The program's function is called without the emulator's lock.
CUresult potential(int* grid, int* block, CUfunction handle, CUoccupancyB2DSize shared_of,
                   std::size_t shared, int limit) noexcept {
  kernels::KernelCode code;
  const CUresult known = on_function(handle, [&](Function& function) -> CUresult {
    code = function.code;
    return grid && block ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
  if (known != CUDA_SUCCESS) return known;
  constexpr int kWarp = 32;
  int most = most_threads(code);
  if (limit > 0) most = std::min(most, limit);
  int best = 0, best_threads = 0, best_blocks = 0;
  for (int threads = most; threads > 0; threads = (threads - 1) / kWarp * kWarp) {
    const int blocks = active_blocks(code, threads, shared_of ? shared_of(threads) : shared);
    if (blocks * threads <= best) continue;
    best = blocks * threads;
    best_threads = threads;
    best_blocks = blocks;
  }
  *block = best_threads;
  *grid = best_blocks * device_attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult function_attribute(const kernels::KernelCode& code, const Settings& settings,
                            int attribute, int* out) {
  if (!out || attribute < 0 || attribute >= kFunctionAttributes) return CUDA_ERROR_INVALID_VALUE;
  const int setting = settings[static_cast<std::size_t>(attribute)];
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *out = most_threads(code);
      break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      *out = code.shared_bytes;
      break;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
      *out = code.constant_bytes;
      break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      *out = code.local_bytes;
      break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      *out = code.registers ? code.registers : kAssumedRegisters;
      break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      *out = kArchitecture;
      break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *out = setting ? setting : default_dynamic_shared(code);
      break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      *out = setting - 1;  // -1: no setting
      break;
    default:
      *out = setting;
  }
  return CUDA_SUCCESS;
}

CUresult set_function_attribute(const kernels::KernelCode& code, Settings& settings, int attribute,
                                int value) {
  if (attribute < kFirstSettable || attribute >= kFunctionAttributes) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  int& setting = settings[static_cast<std::size_t>(attribute)];
  if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) {
    constexpr int kPercent = 100;
    if (value < -1 || value > kPercent) return CUDA_ERROR_INVALID_VALUE;
    setting = value + 1;
    return CUDA_SUCCESS;
  }
  if (value < 0) return CUDA_ERROR_INVALID_VALUE;
  if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES &&
      value > most_dynamic_shared(code)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  setting = value;
  return CUDA_SUCCESS;
}

CUresult function_parameter(const kernels::KernelCode& code, std::size_t index, std::size_t* offset,
                            std::size_t* size) {
  if (!code.parameters) return CUDA_ERROR_NOT_SUPPORTED;
  if (!offset || index >= code.parameters->size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = (*code.parameters)[index].offset;
  if (size) *size = (*code.parameters)[index].size;
  return CUDA_SUCCESS;
}

CUresult parameter_count(const kernels::KernelCode& code, std::size_t* count) {
  if (!code.parameters) return CUDA_ERROR_NOT_SUPPORTED;
  if (!count) return CUDA_ERROR_INVALID_VALUE;
  *count = code.parameters->size();
  return CUDA_SUCCESS;
}

int active_blocks(const kernels::KernelCode& code, int threads, std::size_t dynamic_shared) {
  if (threads > device_attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)) return 0;
  const auto shared = static_cast<std::size_t>(code.shared_bytes) + dynamic_shared;
  if (shared > static_cast<std::size_t>(
                   device_attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN))) {
    return 0;
  }
  constexpr int kWarp = 32;
  const int warps = (threads + kWarp - 1) / kWarp;
  const int registers = code.registers ? code.registers : kAssumedRegisters;
  const int by_threads =
      device_attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / (warps * kWarp);
  const int by_registers = device_attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR) /
                           (registers * warps * kWarp);
  const int by_shared = device_attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) /
                        (static_cast<int>(shared) +
                         device_attribute(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK));
  return std::min({device_attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR), by_threads,
                   by_registers, by_shared});
}

CUVMM_DRIVER_FUNCTION(cuFuncGetAttribute, int* out, CUfunction_attribute attribute,
                      CUfunction handle) {
  return on_function(handle, [&](Function& function) {
    return function_attribute(function.code, function.settings, attribute, out);
  });
}

CUVMM_DRIVER_FUNCTION(cuFuncSetAttribute, CUfunction handle, CUfunction_attribute attribute,
                      int value) {
  return on_function(handle, [&](Function& function) {
    return set_function_attribute(function.code, function.settings, attribute, value);
  });
}

CUVMM_DRIVER_FUNCTION(cuFuncGetModule, CUmodule* out, CUfunction handle) {
  return on_function(handle, [&](Function& function) -> CUresult {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    *out = function.module->handle;
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuFuncGetName, const char** out, CUfunction handle) {
  return with_context([&](Emulator& e, Context&) -> CUresult {
    if (!out || !handle) return CUDA_ERROR_INVALID_VALUE;
    const Function* function = e.modules.find(handle);
    if (!function) return CUDA_ERROR_INVALID_HANDLE;
    *out = function->name.c_str();
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuFuncGetParamInfo, CUfunction handle, size_t index, size_t* offset,
                      size_t* size) {
  return on_function(handle, [&](Function& function) {
    return function_parameter(function.code, index, offset, size);
  });
}

CUVMM_DRIVER_FUNCTION(cuFuncGetParamCount, CUfunction handle, size_t* count) {
  return on_function(handle,
                     [&](Function& function) { return parameter_count(function.code, count); });
}

// These calls set preferences, which have no effect here.
CUVMM_DRIVER_FUNCTION(cuFuncSetCacheConfig, CUfunction handle, CUfunc_cache) {
  return on_function(handle, [](Function&) { return CUDA_SUCCESS; });
}

CUVMM_DRIVER_FUNCTION(cuFuncSetSharedMemConfig, CUfunction handle, CUsharedconfig) {
  return on_function(handle, [](Function&) { return CUDA_SUCCESS; });
}

CUVMM_DRIVER_FUNCTION(cuFuncLoad, CUfunction handle) {
  return on_function(handle, [](Function&) { return CUDA_SUCCESS; });
}

CUVMM_DRIVER_FUNCTION(cuOccupancyMaxActiveBlocksPerMultiprocessor, int* blocks, CUfunction handle,
                      int threads, size_t shared) {
  return occupancy(blocks, handle, threads, shared);
}

CUVMM_DRIVER_FUNCTION(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int* blocks,
                      CUfunction handle, int threads, size_t shared, unsigned) {
  return occupancy(blocks, handle, threads, shared);
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

}  // namespace cuvmm::emulator
