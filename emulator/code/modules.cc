// SPDX-License-Identifier: Apache-2.0
#include "emulator/code/modules.h"

#include <algorithm>
#include <cstring>

#include "emulator/base/emulator.h"

namespace cuvmm::emulator {

namespace {

// The code of a kernel; of a name that may be hidden in a compressed part, what is known: nothing.
std::optional<KernelCode> code_of(const Image& image, std::string_view name) {
  if (const KernelCode* known = image.code.kernel(name)) return *known;
  if (image.code.hidden && !name.empty()) return KernelCode{.name = std::string(name)};
  return std::nullopt;
}

void fill(Emulator& e, Address address, const VariableCode& variable) {
  for (Size done = 0; done < variable.size;) {
    Size run = variable.size - done;
    char* bytes = e.resolve(address + done, &run);
    if (!bytes || run == 0) return;
    const Size given =
        std::min(run, variable.contents.size() - std::min(done, variable.contents.size()));
    std::copy_n(variable.contents.data() + (given ? done : 0), given, bytes);
    std::memset(bytes + given, 0, run - given);
    done += run;
  }
}

void free_variables(Emulator& e, const Module& module) {
  for (const auto& [name, address] : module.variables) {
    e.plain.end(address);
  }
}

}  // namespace

Modules& Modules::get() {
  static auto& all = *new Modules;  // as the emulator: used until the process is gone
  return all;
}

CUresult Modules::load(Emulator& e, Context& context, std::shared_ptr<Image> image,
                       Module*& loaded) {
  auto module = std::make_unique<Module>();
  module->image = std::move(image);
  module->context = &context;
  for (const VariableCode& variable : module->image->code.variables) {
    Address address = 0;
    const CUresult result = e.allocate_plain(context, std::max<Size>(variable.size, 1), &address);
    if (result != CUDA_SUCCESS) {
      free_variables(e, *module);
      return result;
    }
    module->variables.emplace(variable.name, address);
    fill(e, address, variable);
  }
  module->handle = new_handle<CUmodule>();
  loaded = module.get();
  modules_.emplace(module->handle, std::move(module));
  return CUDA_SUCCESS;
}

void Modules::forget(const Module& module) {
  for (const auto& [name, function] : module.functions) functions_.erase(function);
  modules_.erase(module.handle);
}

bool Modules::unload(Emulator& e, CUmodule handle) {
  const Module* module = find(handle);
  if (!module || module->image->library) return false;  // a library's goes with the library
  free_variables(e, *module);
  forget(*module);
  return true;
}

CUlibrary Modules::add_library(std::shared_ptr<Image> image) {
  image->library = new_handle<CUlibrary>();
  return libraries_.emplace(image->library, std::move(image)).first->first;
}

bool Modules::unload(Emulator& e, CUlibrary library) {
  const auto found = libraries_.find(library);
  if (found == libraries_.end()) return false;
  for (auto next = modules_.begin(); next != modules_.end();) {
    const Module& module = *next++->second;
    if (module.image != found->second) continue;
    free_variables(e, module);
    forget(module);
  }
  for (const auto& [name, kernel] : found->second->kernels) kernels_.erase(kernel);
  libraries_.erase(found);
  return true;
}

void Modules::end_those_of(const Context& context) {
  for (auto next = modules_.begin(); next != modules_.end();) {
    const Module& module = *next++->second;
    if (module.context == &context) forget(module);
  }
}

Module* Modules::find(CUmodule module) {
  const auto found = modules_.find(module);
  return found == modules_.end() ? nullptr : found->second.get();
}

Image* Modules::find(CUlibrary library) {
  const auto found = libraries_.find(library);
  return found == libraries_.end() ? nullptr : found->second.get();
}

Function* Modules::find(CUfunction function) {
  const auto found = functions_.find(function);
  return found == functions_.end() ? nullptr : &found->second;
}

Kernel* Modules::find(CUkernel kernel) {
  const auto found = kernels_.find(kernel);
  return found == kernels_.end() ? nullptr : &found->second;
}

CUresult Modules::in_context(Emulator& e, Context& context, CUlibrary library, Module*& module) {
  const auto image = libraries_.find(library);
  if (image == libraries_.end()) return CUDA_ERROR_INVALID_HANDLE;
  for (const auto& [handle, loaded] : modules_) {
    if (loaded->image != image->second || loaded->context != &context) continue;
    module = loaded.get();
    return CUDA_SUCCESS;
  }
  return load(e, context, image->second, module);
}

CUfunction Modules::function(Module& module, std::string_view name) {
  if (const auto known = module.functions.find(name); known != module.functions.end()) {
    return known->second;
  }
  const auto code = code_of(*module.image, name);
  if (!code) return nullptr;
  const auto handle = new_handle<CUfunction>();
  functions_.emplace(handle, Function{&module, std::string(name), *code, {}});
  module.functions.emplace(name, handle);
  return handle;
}

CUkernel Modules::kernel(Image& image, std::string_view name) {
  if (const auto known = image.kernels.find(name); known != image.kernels.end()) {
    return known->second;
  }
  const auto code = code_of(image, name);
  if (!code) return nullptr;
  const auto handle = new_handle<CUkernel>();
  kernels_.emplace(handle, Kernel{libraries_.at(image.library), std::string(name), *code, {}});
  image.kernels.emplace(name, handle);
  return handle;
}

}  // namespace cuvmm::emulator
