// SPDX-License-Identifier: Apache-2.0
#include "kernels/check/check.h"

#include <string>
#include <unordered_map>

#include "kernels/check/body.h"
#include "kernels/check/target.h"

namespace cuvmm::kernels {

namespace {

std::string quoted(std::string_view name) { return "`" + std::string(name) + "`"; }

Verdict invalid(std::string message, const Place& at) {
  return {CUDA_ERROR_INVALID_PTX, {std::move(message), at}};
}

Verdict check_header(const Module& module, const Compiler& compiler) {
  if (compiler.version != 0 && module.version > compiler.version) {
    return {CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
            {"PTX " + version_text(module.version) + " is newer than " +
                 version_text(compiler.version) + ", the newest that this driver reads",
             {}}};
  }
  const Target target = target_named(module.target);
  if (!target.architecture) return invalid(quoted(module.target) + " is no target", {});
  if (module.version < target.version) {
    return invalid(quoted(module.target) + " is not known to PTX " + version_text(module.version),
                   {});
  }
  if (!runs_on(target, compiler.architecture)) {
    return invalid(
        quoted(module.target) + " does not run on sm_" + std::to_string(compiler.architecture), {});
  }
  if (module.address_bits != 0 && module.address_bits != 64) {
    return invalid("addresses have 64 bits in this process", {});
  }
  return {};
}

// Variables and functions share their names. A declaration may come before the definition.
Verdict check_names(const Module& module) {
  std::unordered_map<std::string_view, bool> defined;
  for (const Variable& each : module.variables) {
    if (each.is_extern || each.may_repeat) continue;
    if (!defined.emplace(each.name, true).second) {
      return invalid(quoted(each.name) + " is defined twice", each.at);
    }
  }
  for (const Function& each : module.functions) {
    if (!each.defined || each.may_repeat) continue;
    if (!defined.emplace(each.name, true).second) {
      return invalid(quoted(each.name) + " is defined twice", each.at);
    }
  }
  return {};
}

}  // namespace

Verdict check(const Module& module, const Compiler& compiler) {
  if (Verdict header = check_header(module, compiler); header.code != CUDA_SUCCESS) return header;
  if (Verdict names = check_names(module); names.code != CUDA_SUCCESS) return names;
  const Target target = target_named(module.target);
  for (const Function& each : module.functions) {
    if (!each.defined) continue;
    if (Error error = check_body(module, each, target, compiler.links)) {
      return {CUDA_ERROR_INVALID_PTX, std::move(error)};
    }
  }
  return {};
}

}  // namespace cuvmm::kernels
