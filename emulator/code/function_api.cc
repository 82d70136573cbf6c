// SPDX-License-Identifier: Apache-2.0
// cuFunc*: the contents of a kernel's image, and what a program sets for the kernel.
#include <optional>

#include "emulator/code/function.h"
#include "emulator/code/loading.h"
#include "emulator/code/occupancy.h"
#include "emulator/core/export.h"
#include "emulator/machine/device_attributes.h"

namespace cuvmm::emulator {

namespace {

constexpr int kArchitecture = 90;

int most_dynamic_shared(const kernels::KernelCode& code) {
  return default_attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN).value_or(0) -
         code.shared_bytes;
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

CUresult function_attribute(const kernels::KernelCode& code, const Settings& settings,
                            int attribute, int* out) {
  if (!out || attribute < 0 || attribute >= kFunctionAttributes) return CUDA_ERROR_INVALID_VALUE;
  const std::optional<int> setting = settings[static_cast<std::size_t>(attribute)];
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *out = thread_limit(code);
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
      *out = registers_of(code);
      break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
      *out = code.virtual_architecture != 0 ? code.virtual_architecture : kArchitecture;
      break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      *out = kArchitecture;
      break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *out = dynamic_shared_limit(code, settings);
      break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      *out = setting.value_or(-1);
      break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
      *out = setting.value_or(
          static_cast<int>(code.cluster[attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH]));
      break;
    default:
      *out = setting.value_or(0);
  }
  return CUDA_SUCCESS;
}

CUresult set_function_attribute(const kernels::KernelCode& code, Settings& settings, int attribute,
                                int value) {
  if (attribute < kFirstSettable || attribute >= kFunctionAttributes ||
      attribute == CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (attribute >= CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH &&
      attribute <= CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH && code.cluster[0] != 0)
    return CUDA_ERROR_NOT_PERMITTED;  // the kernel's own size stays
  std::optional<int>& setting = settings[static_cast<std::size_t>(attribute)];
  if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) {
    constexpr int kPercent = 100;
    if (value < -1 || value > kPercent) return CUDA_ERROR_INVALID_VALUE;
    setting = value;
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
CUVMM_DRIVER_FUNCTION(cuFuncSetCacheConfig, CUfunction handle, CUfunc_cache cache) {
  return on_function(handle, [&](Function&) {
    const bool known = static_cast<unsigned>(cache) <= CU_FUNC_CACHE_PREFER_EQUAL;
    return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUVMM_DRIVER_FUNCTION(cuFuncSetSharedMemConfig, CUfunction handle, CUsharedconfig) {
  return on_function(handle, [](Function&) { return CUDA_SUCCESS; });
}

CUVMM_DRIVER_FUNCTION(cuFuncLoad, CUfunction handle) {
  return on_function(handle, [](Function&) { return CUDA_SUCCESS; });
}

CUVMM_DRIVER_FUNCTION(cuFuncIsLoaded, CUfunctionLoadingState* state, CUfunction handle) {
  return on_function(handle, [&](Function&) -> CUresult {
    if (!state) return CUDA_ERROR_INVALID_VALUE;
    *state = CU_FUNCTION_LOADING_STATE_LOADED;
    return CUDA_SUCCESS;
  });
}

}  // namespace cuvmm::emulator
