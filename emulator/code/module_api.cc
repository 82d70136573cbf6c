// SPDX-License-Identifier: Apache-2.0
// cuModule*: device code in the current context.
#include <algorithm>
#include <cstdio>
#include <string>

#include "emulator/code/image.h"
#include "emulator/code/loading.h"
#include "emulator/core/base_entry.h"
#include "emulator/core/export.h"
#include "emulator/core/locked.h"

namespace cuvmm::emulator {

namespace {

template <class Read>
CUresult load_image(CUmodule* out, Read&& read) noexcept {
  return with_context([&](Emulator& e, Context& context) -> CUresult {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<Image> image;
    if (const CUresult refused = read(image); refused != CUDA_SUCCESS) return refused;
    Module* module = nullptr;
    const CUresult result = load(e, context, std::move(image), module);
    if (result == CUDA_SUCCESS) *out = module->handle;
    return result;
  });
}

// Runs body(all modules, the module).
template <class Body>
CUresult on_module(CUmodule handle, Body&& body) noexcept {
  return with_context([&](Emulator& e, Context&) -> CUresult {
    Module* module = e.modules.find(handle);
    return module ? body(e.modules, *module) : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUresult load_data(CUmodule* out, const void* bytes, const Reading& reading = {}) noexcept {
  return load_image(out, [&](auto& image) { return read_image(bytes, image, reading); });
}

// Takes the options that decide whether a text is refused; false: one is no option.
bool take_options(unsigned count, const CUjit_option* options, void** values, Reading& reading) {
  for (unsigned i = 0; i < count; ++i) {
    if (static_cast<unsigned>(options[i]) >= CU_JIT_NUM_OPTIONS) return false;
    const auto value = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(values[i]));
    // CU_TARGET_COMPUTE_90A and its kind have bits above the number.
    if (options[i] == CU_JIT_TARGET) reading.architecture = value & 0xffff;
  }
  return true;
}

// Nothing is compiled: the log contains only the error in the text.
void write_logs(unsigned count, const CUjit_option* options, void** values,
                const std::string& error) {
  std::size_t capacity[2] = {};
  constexpr CUjit_option kSizes[] = {CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                                     CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  constexpr CUjit_option kBuffers[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER};
  for (int log = 0; log < 2; ++log) {
    for (unsigned i = 0; i < count; ++i) {
      if (options[i] != kSizes[log]) continue;
      capacity[log] = reinterpret_cast<std::uintptr_t>(values[i]);
      // The option's value becomes the number of bytes written.
      const std::size_t written = log == 1 ? std::min(error.size(), capacity[log]) : 0;
      values[i] = reinterpret_cast<void*>(written);
    }
    for (unsigned i = 0; i < count; ++i) {
      if (options[i] == kBuffers[log] && values[i] && capacity[log] != 0) {
        std::snprintf(static_cast<char*>(values[i]), capacity[log], "%s",
                      log == 1 ? error.c_str() : "");
      }
    }
  }
}

}  // namespace

CUresult run_base(const calls::ModuleLoad& call) noexcept {
  return load_image(call.module, [&](auto& image) { return read_image_file(call.fname, image); });
}

CUresult run_base(const calls::ModuleLoadData& call) noexcept {
  return load_data(call.module, call.image);
}

CUVMM_DRIVER_FUNCTION(cuModuleLoadFatBinary, CUmodule* out, const void* bytes) {
  return load_data(out, bytes);
}

CUresult run_base(const calls::ModuleLoadDataEx& call) noexcept {
  const unsigned count = call.numOptions;
  if (ended()) return CUDA_ERROR_DEINITIALIZED;
  if (count != 0 && (!call.options || !call.optionValues)) return CUDA_ERROR_INVALID_VALUE;
  std::string error;
  Reading reading{.log = &error};
  if (!take_options(count, call.options, call.optionValues, reading)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const CUresult result = load_data(call.module, call.image, reading);
  if (result == CUDA_SUCCESS || !error.empty()) {
    write_logs(count, call.options, call.optionValues, error);
  }
  return result;
}

CUresult run_base(const calls::ModuleUnload& call) noexcept {
  return with_context([&](Emulator& e, Context&) -> CUresult {
    return e.modules.unload(call.hmod) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUVMM_DRIVER_FUNCTION(cuModuleGetFunction, CUfunction* out, CUmodule handle, const char* name) {
  return on_module(handle, [&](Modules& modules, Module& module) -> CUresult {
    if (!out || !name || !*name) return CUDA_ERROR_INVALID_VALUE;
    CUfunction function = modules.function(module, name);
    if (!function) return CUDA_ERROR_NOT_FOUND;
    *out = function;
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuModuleGetFunctionCount, unsigned* count, CUmodule handle) {
  return on_module(handle, [&](Modules&, Module& module) -> CUresult {
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    *count = static_cast<unsigned>(module.image->code.kernels.size());
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuModuleEnumerateFunctions, CUfunction* out, unsigned capacity,
                      CUmodule handle) {
  return on_module(handle, [&](Modules& modules, Module& module) -> CUresult {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    for (const kernels::KernelCode& kernel : module.image->code.kernels) {
      if (capacity-- == 0) break;
      *out++ = modules.function(module, kernel.name);
    }
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuModuleGetGlobal_v2, CUdeviceptr* address, size_t* bytes, CUmodule handle,
                      const char* name) {
  return on_module(handle, [&](Modules&, Module& module) -> CUresult {
    if (!name || !*name) return CUDA_ERROR_INVALID_VALUE;
    return find_variable(module, name, address, bytes);
  });
}

CUVMM_DRIVER_FUNCTION(cuModuleGetLoadingMode, CUmoduleLoadingMode* mode) {
  return locked([&](Emulator&) -> CUresult {
    if (!mode) return CUDA_ERROR_INVALID_VALUE;
    *mode = CU_MODULE_LAZY_LOADING;  // the default of drivers
    return CUDA_SUCCESS;
  });
}

CUresult find_variable(const Module& module, const char* name, CUdeviceptr* address,
                       std::size_t* bytes) {
  const kernels::VariableCode* variable = module.image->code.variable(name);
  if (!variable) return CUDA_ERROR_NOT_FOUND;
  if (address) *address = module.variables.find(name)->second;
  if (bytes) *bytes = variable->size;
  return CUDA_SUCCESS;
}

}  // namespace cuvmm::emulator
