// SPDX-License-Identifier: Apache-2.0
#include "conformance/suite/case.h"

#include <algorithm>

#include "api/multicast.h"
#include "program/signature.h"

namespace cuvmm::conformance {

namespace {
constexpr Need kMulticast{Need::What::kMulticast, false, 1};
constexpr Need kManaged{Need::What::kManaged, false, 1};

std::string need_text(const Need& need) {
  const char* what = need.what == Need::What::kDevices ? "devices"
                     : need.what == Need::What::kCuda  ? "cuda"
                                                       : "fabric_channel";
  return what + std::string(need.at_least ? ">=" : "=") + std::to_string(need.number);
}

int number_of(const Need& need, const Machine& machine) {
  switch (need.what) {
    case Need::What::kDevices:
      return machine.devices;
    case Need::What::kCuda:
      return machine.cuda;
    default:
      return machine.fabric_channel;
  }
}

// Whether a type of memory may be MANAGED (2).
bool may_be_managed(const program::Value& type) {
  using Kind = program::Value::Kind;
  if (type.kind == Kind::kName) return type.text != "pinned" && type.text != "invalid";
  return type.kind != Kind::kNumber || type.number == 2;
}

bool makes_managed(const Statement& statement) {
  if (statement.function == "cuMemAllocManaged") return true;
  const program::FunctionSignature* function = program::find_function(statement.function);
  if (!function) return false;
  std::vector<program::ArgumentError> mistakes;
  const program::BoundArguments bound =
      program::bind_arguments(*function, statement.arguments, mistakes);
  for (std::size_t i = 0; i < bound.values.size(); ++i) {
    const program::Value* value = bound.values[i];
    if (!value) continue;
    if (function->parameters[i].kind == ParameterKind::kAllocationType && may_be_managed(*value))
      return true;
    if (statement.function != "cuMemPoolCreate") continue;
    for (const program::Argument& part : value->parts) {
      if (part.key == "allocType" && may_be_managed(part.value)) return true;
    }
  }
  return false;
}

bool lacks(const Machine& machine, const std::string& name) {
  if (!machine.driver) return false;
  const program::FunctionSignature* function = program::find_function(name);
  if (!function || function->pseudo != program::Pseudo::kNone) return false;
  return machine.driver->get(Driver::primary_symbol(function->entry)) == nullptr;
}

// Whether the machine has more devices than the case may see, so that the others must be hidden.
bool hides_devices(const Need& need, const Machine& machine) {
  return need.what == Need::What::kDevices && !need.at_least && need.number > 0 &&
         need.number < machine.devices;
}
}  // namespace

int devices_to_show(const Case& test_case, const Machine& machine) {
  for (const Need& need : test_case.needs) {
    if (hides_devices(need, machine)) return need.number;
  }
  return 0;
}

std::string unmet_need(const Case& test_case, const Machine& machine) {
  for (const Statement& statement : test_case.program.statements) {
    if (lacks(machine, statement.function)) {
      return "needs " + statement.function + ", which this driver does not export";
    }
  }
  for (const Need& need : test_case.needs) {
    if (need.what == Need::What::kMulticast) {
      if (machine.multicast) continue;
      return "needs multicast, which is kept from this driver without --allow-multicast";
    }
    if (need.what == Need::What::kManaged) {
      if (machine.managed) continue;
      return "needs managed memory, which is kept from all drivers but the emulator";
    }
    if (need.what == Need::What::kSupport || hides_devices(need, machine)) continue;
    const int have = number_of(need, machine);
    if (need.at_least ? have >= need.number : have == need.number) continue;
    return "needs " + need_text(need) + ", there is " + std::to_string(have);
  }
  return {};
}

void add_implied_needs(Case& test_case) {
  const auto& statements = test_case.program.statements;
  auto& needs = test_case.needs;
  const auto add = [&](const Need& need, auto&& implies) {
    if (std::none_of(statements.begin(), statements.end(), implies)) return;
    if (std::find(needs.begin(), needs.end(), need) == needs.end()) needs.push_back(need);
  };
  add(kMulticast, [](const Statement& s) { return can_multicast(s.function); });
  add(kManaged, makes_managed);
}

CUresult expected_result(const Statement& statement) {
  return statement.expected.value_or(CUDA_SUCCESS);
}

}  // namespace cuvmm::conformance
