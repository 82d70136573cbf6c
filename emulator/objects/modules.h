// SPDX-License-Identifier: Apache-2.0
// Loaded device code: modules of one context, libraries of all contexts. kernels/ runs the kernels
// in it.
#pragma once

#include <cuda.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "emulator/objects/context.h"
#include "emulator/objects/memory/plain_allocations.h"
#include "kernels/kernels.h"

namespace cuvmm::emulator {

/// One image. Kernels are entered when a program first asks for their handles.
struct Image {
  kernels::DeviceCode code;
  CUlibrary library = nullptr;  ///< null: it was loaded as a module
  /// Why the code of a library cannot be used. A driver answers it at the first use of the library,
  /// and not when it is loaded (an H100).
  CUresult refusal = CUDA_SUCCESS;
  std::map<std::string, CUkernel, std::less<>> kernels;
};

/// The addresses of a module's variables.
using Variables = std::map<std::string, CUdeviceptr, std::less<>>;

/// An image in a context, with memory for its variables. loading.h has the functions that load one.
struct Module {
  CUmodule handle = nullptr;
  std::shared_ptr<Image> image;
  Context* context = nullptr;
  Variables variables;
  std::map<std::string, CUfunction, std::less<>> functions;
};

/// Attributes that a program may set, by the number of their CUfunction_attribute.
inline constexpr int kFirstSettable = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
inline constexpr int kFunctionAttributes = 16;
using Settings = std::array<std::optional<int>, kFunctionAttributes>;

struct Function {
  Module* module = nullptr;
  std::string name;
  kernels::KernelCode code;
  Settings settings{};
  std::shared_ptr<const kernels::Code> decoded{};  ///< set by the first launch
  bool refused = false;  ///< the kernel cannot be run, and a message said so
};

struct Kernel {
  std::shared_ptr<Image> image;
  std::string name;
  kernels::KernelCode code;
  std::map<int, Settings> settings;  ///< by device
};

/// The loaded code of the process; the caller holds the emulator's lock. Handles are never given
/// out twice.
class Modules {
 public:
  /// Modules end together with the memory of their variables.
  explicit Modules(PlainAllocations& plain);

  /// Adds an image that was loaded into a context.
  Module& add(std::shared_ptr<Image> image, Context& context, Variables&& variables);
  /// Unloads a module; false for a handle of no module.
  bool unload(CUmodule module);
  CUlibrary add_library(std::shared_ptr<Image> image);
  bool unload(CUlibrary library);
  /// Ends the modules of a context, whose memory ended with the context.
  void end_those_of(const Context& context);

  Module* find(CUmodule module);
  std::shared_ptr<Image> find(CUlibrary library) const;
  Function* find(CUfunction function);
  Kernel* find(CUkernel kernel);
  /// Whether a graph may be instantiated that runs this function or kernel. A driver dies of one
  /// whose code was unloaded.
  CUresult loaded(CUfunction handle) {
    return find(handle) || find(reinterpret_cast<CUkernel>(handle)) ? CUDA_SUCCESS
                                                                    : CUDA_ERROR_INVALID_VALUE;
  }
  /// Whether it is, or was, a handle of a function or a kernel of the emulator's.
  bool gave_out(CUfunction handle) const {
    const auto value = reinterpret_cast<std::uintptr_t>(handle);
    return value > kFirst && value <= next_;
  }
  /// The module of a library's image in a context; null where the image is not loaded there.
  Module* in_context(const Context& context, const Image& image) const;
  /// The kernel's handle; null: the module has no such kernel.
  CUfunction function(Module& module, std::string_view name);
  CUkernel kernel(Image& image, std::string_view name);

 private:
  template <class Handle>
  Handle new_handle() {
    return reinterpret_cast<Handle>(next_ += 0x10);
  }
  void free_variables(const Module& module);
  void forget(const Module& module);

  PlainAllocations& plain_;
  std::map<CUmodule, std::unique_ptr<Module>> modules_;
  std::map<CUlibrary, std::shared_ptr<Image>> libraries_;
  std::map<CUfunction, Function> functions_;
  std::map<CUkernel, Kernel> kernels_;
  static constexpr std::uintptr_t kFirst = std::uintptr_t{0xc0de} << 32;
  std::uintptr_t next_ = kFirst;
};

}  // namespace cuvmm::emulator
