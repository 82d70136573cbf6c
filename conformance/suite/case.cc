// SPDX-License-Identifier: Apache-2.0
#include "conformance/suite/case.h"

#include <algorithm>

#include "api/multicast.h"

namespace cuvmm::conformance {

namespace {
constexpr Need kMulticast{Need::What::kMulticast, false, 1};

std::string need_text(const Need& need) {
  return std::string(need.what == Need::What::kDevices ? "devices" : "fabric_channel") +
         (need.at_least ? ">=" : "=") + std::to_string(need.number);
}

// Whether the machine has more devices than the case may see: the others can be hidden from it.
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
  for (const Need& need : test_case.needs) {
    if (need.what == Need::What::kMulticast) {
      if (machine.multicast) continue;
      return "needs multicast, which is kept from this driver without --allow-multicast";
    }
    if (hides_devices(need, machine)) continue;
    const int have = need.what == Need::What::kDevices ? machine.devices : machine.fabric_channel;
    if (need.at_least ? have >= need.number : have == need.number) continue;
    return "needs " + need_text(need) + ", there is " + std::to_string(have);
  }
  return {};
}

void add_implied_needs(Case& test_case) {
  const auto& statements = test_case.program.statements;
  const bool multicast = std::any_of(statements.begin(), statements.end(),
                                     [](const Statement& s) { return can_multicast(s.function); });
  if (multicast && std::find(test_case.needs.begin(), test_case.needs.end(), kMulticast) ==
                       test_case.needs.end()) {
    test_case.needs.push_back(kMulticast);
  }
}

CUresult expected_result(const Statement& statement) {
  return statement.expected.value_or(CUDA_SUCCESS);
}

}  // namespace cuvmm::conformance
