// SPDX-License-Identifier: Apache-2.0
// Loaded device code: modules of one context, libraries of all. kernels/ runs what is in it.
#pragma once

#include <cuda.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "emulator/objects/context.h"
#include "emulator/objects/memory/plain_allocations.h"
#include "kernels/kernels.h"

namespace cuvmm::emulator {

/// One image. Kernels are entered when their handles are first asked for.
struct Image {
  kernels::DeviceCode code;
  CUlibrary library = nullptr;  ///< null: it was loaded as a module
  std::map<std::string, CUkernel, std::less<>> kernels;
};

/// Where the variables of a module are.
using Variables = std::map<std::string, CUdeviceptr, std::less<>>;

/// An image in a context, with memory for its variables. What loads one: loading.h.
struct Module {
  CUmodule handle = nullptr;
  std::shared_ptr<Image> image;
  Context* context = nullptr;
  Variables variables;
  std::map<std::string, CUfunction, std::less<>> functions;
};

/// Attributes that a program may set; by the number of their CUfunction_attribute.
inline constexpr int kFirstSettable = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
inline constexpr int kFunctionAttributes = 16;
using Settings = std::array<int, kFunctionAttributes>;

struct Function {
  Module* module = nullptr;
  std::string name;
  kernels::KernelCode code;
  Settings settings{};
  std::shared_ptr<const kernels::Code> decoded{};  ///< once it was launched
  bool refused = false;                            ///< it cannot be run, and that was said
};

struct Kernel {
  std::shared_ptr<Image> image;
  std::string name;
  kernels::KernelCode code;
  std::map<int, Settings> settings;  ///< by device
};

/// The loaded code of the process; the caller holds the emulator's lock. Handles are never handed
/// out twice.
class Modules {
 public:
  /// Modules end with the memory of their variables.
  explicit Modules(PlainAllocations& plain);

  /// An image that was put into a context.
  Module& add(std::shared_ptr<Image> image, Context& context, Variables&& variables);
  /// False for what is none.
  bool unload(CUmodule module);
  CUlibrary add_library(std::shared_ptr<Image> image);
  bool unload(CUlibrary library);
  /// Ends the modules of a context; their memory ended with it.
  void end_those_of(const Context& context);

  Module* find(CUmodule module);
  std::shared_ptr<Image> find(CUlibrary library) const;
  Function* find(CUfunction function);
  Kernel* find(CUkernel kernel);
  /// Whether it is, or was, a handle of a function or a kernel of the emulator's.
  bool gave_out(CUfunction handle) const {
    const auto value = reinterpret_cast<std::uintptr_t>(handle);
    return value > kFirst && value <= next_;
  }
  /// A library's image as it is in a context; null where it was not loaded there.
  Module* in_context(const Context& context, const Image& image) const;
  /// Null: there is no such kernel.
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
