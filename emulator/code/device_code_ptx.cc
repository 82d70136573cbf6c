// SPDX-License-Identifier: Apache-2.0
// PTX: what is known of its kernels and variables before any of it runs.
#include <algorithm>
#include <utility>

#include "emulator/code/device_code.h"
#include "emulator/ptx/decode/decoder.h"
#include "emulator/ptx/text/parser.h"

namespace cuvmm::emulator {

namespace {

// What the variables of a body take in a space.
int bytes_in(const ptx::Function& function, ptx::Space space) {
  std::uint64_t sum = 0;
  for (const ptx::Variable& each : function.variables) {
    if (each.space != space) continue;
    sum = (sum + each.align - 1) / each.align * each.align + each.size;
  }
  return static_cast<int>(std::min<std::uint64_t>(sum, 1 << 30));
}

void add_kernel(const ptx::Function& function, DeviceCode& code) {
  KernelCode kernel{.name = std::string(function.name)};
  kernel.shared_bytes = bytes_in(function, ptx::Space::kShared);
  kernel.local_bytes = bytes_in(function, ptx::Space::kLocal);
  kernel.parameters.emplace();
  for (const ptx::Slot& slot : ptx::layout(function.parameters)) {
    kernel.parameters->push_back({slot.offset, slot.size});
  }
  code.kernels.push_back(std::move(kernel));
}

void add_variable(const ptx::Variable& variable, DeviceCode& code) {
  const bool constant = variable.space == ptx::Space::kConst;
  const std::string name(variable.name);
  if (variable.is_extern || (!constant && variable.space != ptx::Space::kGlobal)) return;
  if (code.variable(name)) return;  // declared, and defined
  VariableCode made{name, variable.size, variable.contents, constant};
  for (const ptx::Reference& each : variable.references) {
    made.references.push_back({each.offset, each.name, each.addend});
  }
  code.variables.push_back(std::move(made));
}

}  // namespace

CUresult read_ptx(std::string_view text, DeviceCode& code) {
  if (!ptx::looks_like_ptx(text)) return CUDA_ERROR_INVALID_IMAGE;
  ptx::Error error;
  code.ptx = ptx::parse(text, error);
  if (!code.ptx) {
    code.error = error.text();
    return CUDA_ERROR_INVALID_PTX;
  }
  for (const ptx::Function& each : code.ptx->functions) {
    if (each.entry && each.defined) add_kernel(each, code);
  }
  for (const ptx::Variable& each : code.ptx->variables) add_variable(each, code);
  return CUDA_SUCCESS;
}

}  // namespace cuvmm::emulator
