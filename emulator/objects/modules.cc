// SPDX-License-Identifier: Apache-2.0
#include "emulator/objects/modules.h"

#include <optional>
#include <utility>

namespace cuvmm::emulator {

namespace {

// The code of a kernel. A name that may be hidden in a compressed part of the image gets empty
// code.
std::optional<kernels::KernelCode> code_of(const Image& image, std::string_view name) {
  if (const kernels::KernelCode* known = image.code.kernel(name)) return *known;
  if (image.code.hidden && !name.empty()) return kernels::KernelCode{.name = std::string(name)};
  return std::nullopt;
}

}  // namespace

Modules::Modules(PlainAllocations& plain) : plain_(plain) {}

Module& Modules::add(std::shared_ptr<Image> image, Context& context, Variables&& variables) {
  auto module = std::make_unique<Module>();
  module->handle = new_handle<CUmodule>();
  module->image = std::move(image);
  module->context = &context;
  module->variables = std::move(variables);
  return *modules_.emplace(module->handle, std::move(module)).first->second;
}

void Modules::free_variables(const Module& module) {
  for (const auto& [name, address] : module.variables) plain_.end(address);
}

void Modules::forget(const Module& module) {
  for (const auto& [name, function] : module.functions) functions_.erase(function);
  modules_.erase(module.handle);
}

bool Modules::unload(CUmodule handle) {
  const Module* module = find(handle);
  // The module of a library ends with the library.
  if (!module || module->image->library) return false;
  free_variables(*module);
  forget(*module);
  return true;
}

CUlibrary Modules::add_library(std::shared_ptr<Image> image) {
  image->library = new_handle<CUlibrary>();
  return libraries_.emplace(image->library, std::move(image)).first->first;
}

bool Modules::unload(CUlibrary library) {
  const auto found = libraries_.find(library);
  if (found == libraries_.end()) return false;
  for (auto next = modules_.begin(); next != modules_.end();) {
    const Module& module = *next++->second;
    if (module.image != found->second) continue;
    free_variables(module);
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

std::shared_ptr<Image> Modules::find(CUlibrary library) const {
  const auto found = libraries_.find(library);
  return found == libraries_.end() ? nullptr : found->second;
}

Function* Modules::find(CUfunction function) {
  const auto found = functions_.find(function);
  return found == functions_.end() ? nullptr : &found->second;
}

Kernel* Modules::find(CUkernel kernel) {
  const auto found = kernels_.find(kernel);
  return found == kernels_.end() ? nullptr : &found->second;
}

Module* Modules::in_context(const Context& context, const Image& image) const {
  for (const auto& [handle, loaded] : modules_) {
    if (loaded->image.get() == &image && loaded->context == &context) return loaded.get();
  }
  return nullptr;
}

CUfunction Modules::function(Module& module, std::string_view name) {
  if (const auto known = module.functions.find(name); known != module.functions.end()) {
    return known->second;
  }
  const auto code = code_of(*module.image, name);
  if (!code) return nullptr;
  const auto handle = new_handle<CUfunction>();
  functions_.emplace(handle, Function{&module, std::string(name), *code});
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
