// SPDX-License-Identifier: Apache-2.0
// cuLibrary* and cuKernel*: device code that every context may use. It is loaded into a context at
// the context's first use of it.
#include "emulator/code/function.h"
#include "emulator/code/image.h"
#include "emulator/code/loading.h"
#include "emulator/core/base_entry.h"
#include "emulator/core/export.h"
#include "emulator/core/locked.h"

namespace cuvmm::emulator {

namespace {

template <class Read>
CUresult load(CUlibrary* out, bool options, Read&& read) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    if (!out || !options) return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<Image> image;
    const CUresult result = read(image);
    if (!image) return result;
    *out = e.modules.add_library(std::move(image));
    return CUDA_SUCCESS;
  });
}

// Whether the call passes the arrays of the options that it counts.
template <class Call>
bool gives_options(const Call& call) {
  return (call.numJitOptions == 0 || (call.jitOptions && call.jitOptionsValues)) &&
         (call.numLibraryOptions == 0 || call.libraryOptions);
}

// Runs body(all modules, the library's image).
template <class Body>
CUresult on_library(CUlibrary handle, Body&& body) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    const std::shared_ptr<Image> image = e.modules.find(handle);
    return image ? body(e.modules, *image) : CUDA_ERROR_INVALID_HANDLE;
  });
}

template <class Body>
CUresult on_loaded(CUlibrary handle, Body&& body) noexcept {
  return with_context([&](Emulator& e, Context& context) -> CUresult {
    Module* module = nullptr;
    const CUresult result = in_context(e, context, handle, module);
    return result == CUDA_SUCCESS ? body(*module) : result;
  });
}

// A name is looked at before the library's code is.
template <class Body>
CUresult on_variable(CUlibrary handle, const char* name, Body&& body) noexcept {
  return with_context([&](Emulator& e, Context& context) -> CUresult {
    if (!e.modules.find(handle)) return CUDA_ERROR_INVALID_HANDLE;
    if (!name || !*name) return CUDA_ERROR_INVALID_VALUE;
    Module* module = nullptr;
    const CUresult result = in_context(e, context, handle, module);
    return result == CUDA_SUCCESS ? body(*module) : result;
  });
}

template <class Body>
CUresult on_kernel(CUkernel handle, Body&& body) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    Kernel* kernel = e.modules.find(handle);
    return kernel ? body(e, *kernel) : CUDA_ERROR_INVALID_HANDLE;
  });
}

}  // namespace

CUresult run_base(const calls::LibraryLoadData& call) noexcept {
  return load(call.library, gives_options(call),
              [&](auto& image) { return read_image(call.code, image); });
}

CUresult run_base(const calls::LibraryLoadFromFile& call) noexcept {
  return load(call.library, gives_options(call),
              [&](auto& image) { return read_image_file(call.fileName, image); });
}

CUresult run_base(const calls::LibraryUnload& call) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    return e.modules.unload(call.library) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUVMM_DRIVER_FUNCTION(cuLibraryGetKernel, CUkernel* out, CUlibrary handle, const char* name) {
  return on_library(handle, [&](Modules& modules, Image& image) -> CUresult {
    if (!out || !name) return CUDA_ERROR_INVALID_VALUE;
    if (image.refusal != CUDA_SUCCESS) return image.refusal;
    CUkernel kernel = modules.kernel(image, name);
    if (!kernel) return CUDA_ERROR_NOT_FOUND;
    *out = kernel;
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuLibraryGetKernelCount, unsigned* count, CUlibrary handle) {
  return on_library(handle, [&](Modules&, Image& image) -> CUresult {
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    *count = static_cast<unsigned>(image.code.kernels.size());
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuLibraryEnumerateKernels, CUkernel* out, unsigned capacity,
                      CUlibrary handle) {
  return on_library(handle, [&](Modules& modules, Image& image) -> CUresult {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    for (const kernels::KernelCode& kernel : image.code.kernels) {
      if (capacity-- == 0) break;
      *out++ = modules.kernel(image, kernel.name);
    }
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuLibraryGetModule, CUmodule* out, CUlibrary handle) {
  return on_loaded(handle, [&](Module& module) -> CUresult {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    *out = module.handle;
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuLibraryGetGlobal, CUdeviceptr* address, size_t* bytes, CUlibrary handle,
                      const char* name) {
  return on_variable(handle, name,
                     [&](Module& module) { return find_variable(module, name, address, bytes); });
}

// Managed variables have their place in the context that first needs them.
CUVMM_DRIVER_FUNCTION(cuLibraryGetManaged, CUdeviceptr* address, size_t* bytes, CUlibrary handle,
                      const char* name) {
  return on_variable(handle, name, [&](Module& module) -> CUresult {
    const kernels::VariableCode* found = module.image->code.variable(name);
    return found && found->managed ? find_variable(module, name, address, bytes)
                                   : CUDA_ERROR_NOT_FOUND;
  });
}

// An H100 has no unified function under any name.
CUVMM_DRIVER_FUNCTION(cuLibraryGetUnifiedFunction, void**, CUlibrary handle, const char*) {
  return on_library(handle, [](Modules&, Image&) { return CUDA_ERROR_INVALID_VALUE; });
}

CUVMM_DRIVER_FUNCTION(cuKernelGetFunction, CUfunction* out, CUkernel handle) {
  return with_context([&](Emulator& e, Context& context) -> CUresult {
    Kernel* kernel = e.modules.find(handle);
    if (!kernel) return CUDA_ERROR_INVALID_HANDLE;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    Module* module = nullptr;
    const CUresult result = in_context(e, context, kernel->image->library, module);
    if (result == CUDA_SUCCESS) *out = e.modules.function(*module, kernel->name);
    return result;
  });
}

CUVMM_DRIVER_FUNCTION(cuKernelGetLibrary, CUlibrary* out, CUkernel handle) {
  return on_kernel(handle, [&](Emulator&, Kernel& kernel) -> CUresult {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    *out = kernel.image->library;
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuKernelGetName, const char** out, CUkernel handle) {
  return locked([&](Emulator& e) -> CUresult {
    if (!out || !handle) return CUDA_ERROR_INVALID_VALUE;
    const Kernel* kernel = e.modules.find(handle);
    if (!kernel) return CUDA_ERROR_INVALID_HANDLE;
    *out = kernel->name.c_str();
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuKernelGetAttribute, int* out, CUfunction_attribute attribute,
                      CUkernel handle, CUdevice device) {
  return on_kernel(handle, [&](Emulator& e, Kernel& kernel) -> CUresult {
    if (!e.valid_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    return function_attribute(kernel.code, kernel.settings[device], attribute, out);
  });
}

CUVMM_DRIVER_FUNCTION(cuKernelSetAttribute, CUfunction_attribute attribute, int value,
                      CUkernel handle, CUdevice device) {
  return on_kernel(handle, [&](Emulator& e, Kernel& kernel) -> CUresult {
    if (!e.valid_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    return set_function_attribute(kernel.code, kernel.settings[device], attribute, value);
  });
}

CUVMM_DRIVER_FUNCTION(cuKernelGetParamInfo, CUkernel handle, size_t index, size_t* offset,
                      size_t* size) {
  return on_kernel(handle, [&](Emulator&, Kernel& kernel) {
    return function_parameter(kernel.code, index, offset, size);
  });
}

CUVMM_DRIVER_FUNCTION(cuKernelGetParamCount, CUkernel handle, size_t* count) {
  return on_kernel(handle,
                   [&](Emulator&, Kernel& kernel) { return parameter_count(kernel.code, count); });
}

CUVMM_DRIVER_FUNCTION(cuKernelSetCacheConfig, CUkernel handle, CUfunc_cache cache,
                      CUdevice device) {
  return on_kernel(handle, [&](Emulator& e, Kernel&) -> CUresult {
    if (static_cast<unsigned>(cache) > CU_FUNC_CACHE_PREFER_EQUAL) return CUDA_ERROR_INVALID_VALUE;
    return e.valid_device(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
  });
}

}  // namespace cuvmm::emulator
