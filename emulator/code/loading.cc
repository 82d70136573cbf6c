// SPDX-License-Identifier: Apache-2.0
#include "emulator/code/loading.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace cuvmm::emulator {

namespace {

void fill(Emulator& e, Address address, const kernels::VariableCode& variable) {
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

// Writes the addresses of other variables into a variable.
void refer(Emulator& e, const Variables& all, const kernels::VariableCode& variable) {
  for (const kernels::VariableCode::Reference& reference : variable.references) {
    const auto target = all.find(reference.name);
    if (target == all.end() || reference.offset + sizeof(Address) > variable.size) continue;
    const Address value = target->second + reference.addend;
    Size run = sizeof value;
    char* bytes = e.resolve(all.find(variable.name)->second + reference.offset, &run);
    if (bytes && run == sizeof value) std::memcpy(bytes, &value, sizeof value);
  }
}

}  // namespace

CUresult load(Emulator& e, Context& context, std::shared_ptr<Image> image, Module*& loaded) {
  if (image->refusal != CUDA_SUCCESS) return image->refusal;
  Variables variables;
  for (const kernels::VariableCode& variable : image->code.variables) {
    Address address = 0;
    const Size size = std::max<Size>(variable.size, 1);
    const CUresult result = variable.managed ? e.allocate_managed(context, size, nullptr, &address)
                                             : e.allocate_plain(context, size, &address);
    if (result != CUDA_SUCCESS) {
      for (const auto& [name, allocated] : variables) e.plain.end(allocated);
      return result;
    }
    e.plain.find(address)->of_module = true;
    variables.emplace(variable.name, address);
    fill(e, address, variable);
  }
  for (const kernels::VariableCode& variable : image->code.variables) refer(e, variables, variable);
  loaded = &e.modules.add(std::move(image), context, std::move(variables));
  return CUDA_SUCCESS;
}

CUresult in_context(Emulator& e, Context& context, CUlibrary library, Module*& module) {
  auto image = e.modules.find(library);
  if (!image) return CUDA_ERROR_INVALID_HANDLE;
  module = e.modules.in_context(context, *image);
  return module ? CUDA_SUCCESS : load(e, context, std::move(image), module);
}

}  // namespace cuvmm::emulator
