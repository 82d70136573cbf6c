// SPDX-License-Identifier: Apache-2.0
// Loaded device code: modules of one context, libraries of all. There is nothing here to run a
// kernel on; what is known of one is what its image says.
#pragma once

#include <cuda.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "emulator/code/device_code.h"
#include "emulator/context/context.h"

namespace cuvmm::emulator {

class Emulator;

/// One image. Kernels are entered when their handles are first asked for.
struct Image {
  DeviceCode code;
  CUlibrary library = nullptr;  ///< null: it was loaded as a module
  std::map<std::string, CUkernel, std::less<>> kernels;
};

/// An image in a context, with memory for its variables.
struct Module {
  CUmodule handle = nullptr;
  std::shared_ptr<Image> image;
  Context* context = nullptr;
  std::map<std::string, CUdeviceptr, std::less<>> variables;
  std::map<std::string, CUfunction, std::less<>> functions;
};

/// Attributes that a program may set; by the number of their CUfunction_attribute.
inline constexpr int kFirstSettable = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
inline constexpr int kFunctionAttributes = 16;
using Settings = std::array<int, kFunctionAttributes>;

struct Function {
  Module* module = nullptr;
  std::string name;
  KernelCode code;
  Settings settings{};
};

struct Kernel {
  std::shared_ptr<Image> image;
  std::string name;
  KernelCode code;
  std::map<int, Settings> settings;  ///< by device
};

/// The loaded code of the process; the caller holds the emulator's lock. Handles are never handed
/// out twice.
class Modules {
 public:
  static Modules& get();

  /// Puts `image` into a context, its variables into memory there.
  CUresult load(Emulator& e, Context& context, std::shared_ptr<Image> image, Module*& loaded);
  /// False for what is none.
  bool unload(Emulator& e, CUmodule module);
  CUlibrary add_library(std::shared_ptr<Image> image);
  bool unload(Emulator& e, CUlibrary library);
  /// Ends the modules of a context; their memory ended with it.
  void end_those_of(const Context& context);

  Module* find(CUmodule module);
  Image* find(CUlibrary library);
  Function* find(CUfunction function);
  Kernel* find(CUkernel kernel);
  /// A library as it is in a context; loaded there now where it was not.
  CUresult in_context(Emulator& e, Context& context, CUlibrary library, Module*& module);
  /// Null: there is no such kernel.
  CUfunction function(Module& module, std::string_view name);
  CUkernel kernel(Image& image, std::string_view name);

 private:
  template <class Handle>
  Handle new_handle() {
    return reinterpret_cast<Handle>(next_ += 0x10);
  }
  void forget(const Module& module);

  std::map<CUmodule, std::unique_ptr<Module>> modules_;
  std::map<CUlibrary, std::shared_ptr<Image>> libraries_;
  std::map<CUfunction, Function> functions_;
  std::map<CUkernel, Kernel> kernels_;
  std::uintptr_t next_ = std::uintptr_t{0xc0de} << 32;
};

}  // namespace cuvmm::emulator
