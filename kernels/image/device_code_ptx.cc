// SPDX-License-Identifier: Apache-2.0
// PTX: the properties of its kernels and variables that are known before a kernel runs.
#include <algorithm>
#include <cstring>
#include <unordered_set>
#include <utility>

#include "kernels/check/check.h"
#include "kernels/check/target.h"
#include "kernels/decode/layout.h"
#include "kernels/image/device_code.h"
#include "kernels/text/parser.h"

namespace cuvmm::kernels {

namespace {

// The bytes that the variables of a body need in a space.
int bytes_in(const Function& function, Space space) {
  std::uint64_t sum = 0;
  for (const Variable& each : function.variables) {
    if (each.space != space) continue;
    sum = (sum + each.align - 1) / each.align * each.align + each.size;
  }
  return static_cast<int>(std::min<std::uint64_t>(sum, 1 << 30));
}

int product(const unsigned (&threads)[3]) {
  return static_cast<int>(threads[0] * threads[1] * threads[2]);
}

// The bytes of the module's constant variables, which a driver names for each of its kernels.
int constant_bytes(const Module& module) {
  std::uint64_t sum = 0;
  for (const Variable& each : module.variables) {
    if (each.space != Space::kConst || each.is_extern) continue;
    sum = (sum + each.align - 1) / each.align * each.align + each.size;
  }
  return static_cast<int>(std::min<std::uint64_t>(sum, 1 << 16));
}

// `common`: the properties that all kernels of the module have.
void add_kernel(const KernelCode& common, const Function& function, DeviceCode& code) {
  KernelCode kernel = common;
  kernel.name = function.name;
  kernel.shared_bytes = bytes_in(function, Space::kShared);
  kernel.local_bytes = bytes_in(function, Space::kLocal);
  const int exact = product(function.exact_threads);
  kernel.exact_threads = exact != 0;
  kernel.most_threads = exact != 0 ? exact : product(function.most_threads);
  std::copy_n(function.cluster, 3, kernel.cluster);
  kernel.parameters.emplace();
  for (const Slot& slot : layout(function.parameters)) {
    kernel.parameters->push_back({slot.offset, slot.size});
  }
  code.kernels.push_back(std::move(kernel));
}

// `known`: the names of the variables added so far. `alone`: no other text can define a variable
// that this one declares; a driver gives the variable zeros then (an H100).
void add_variable(const Module& module, const Variable& variable, bool alone,
                  std::unordered_set<std::string_view>& known, DeviceCode& code) {
  const bool constant = variable.space == Space::kConst;
  const std::string name(variable.name);
  if ((variable.is_extern && !alone) || variable.is_opaque ||
      (!constant && variable.space != Space::kGlobal))
    return;
  if (!known.insert(variable.name).second) return;  // a variable may be declared and defined
  VariableCode made{name, variable.size, variable.contents, constant, variable.is_managed};
  for (const Reference& each : variable.references) {
    const std::uint64_t function = module.address_of(each.name);
    if (function == 0) {
      made.references.push_back({each.offset, each.name, each.addend});
      continue;
    }
    // A table of virtual functions, for one.
    if (made.contents.size() < each.offset + sizeof function)
      made.contents.resize(each.offset + sizeof function);
    std::memcpy(&made.contents[each.offset], &function, sizeof function);
  }
  code.variables.push_back(std::move(made));
}

// A kernel with more parameters than any launch can pass; null: no kernel has so many.
const Function* takes_too_much(const Module& module) {
  constexpr std::uint64_t kMost = 32764;  // bytes, from CUDA 12.1 and PTX 8.1 on; 4 KiB before
  const auto large = std::ranges::find_if(module.functions, [](const Function& each) {
    const std::vector<Slot> slots = layout(each.parameters);
    return each.entry && !slots.empty() && slots.back().offset + slots.back().size > kMost;
  });
  return large == module.functions.end() ? nullptr : &*large;
}

}  // namespace

CUresult read_ptx(std::string_view text, DeviceCode& code, const Compiler* compiler) {
  if (!looks_like_ptx(text)) return CUDA_ERROR_INVALID_IMAGE;
  Error error;
  code.ptx = parse(text, error);
  if (!code.ptx) {
    code.error = error.text();
    return CUDA_ERROR_INVALID_PTX;
  }
  if (compiler) {
    const Verdict verdict = check(*code.ptx, *compiler);
    if (verdict.code != CUDA_SUCCESS) {
      code.error = verdict.why.text();
      code.ptx.reset();
      return verdict.code;
    }
  }
  if (const Function* const large = takes_too_much(*code.ptx)) {
    error = {"the parameters of `" + std::string(large->name) + "` take more than 32764 bytes",
             large->at};
    code.error = error.text();
    code.ptx.reset();
    return CUDA_ERROR_INVALID_PTX;
  }
  KernelCode common;
  common.constant_bytes = constant_bytes(*code.ptx);
  common.virtual_architecture = static_cast<int>(target_named(code.ptx->target).architecture);
  for (const Function& each : code.ptx->functions) {
    if (each.entry && each.defined) add_kernel(common, each, code);
  }
  std::unordered_set<std::string_view> known;
  const bool alone = compiler && !compiler->links;
  const auto add = [&](bool declared) {
    for (const Variable& each : code.ptx->variables) {
      if (each.is_extern == declared) add_variable(*code.ptx, each, alone, known, code);
    }
  };
  add(false);
  add(true);
  return CUDA_SUCCESS;
}

}  // namespace cuvmm::kernels
