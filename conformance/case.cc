#include "conformance/case.h"

namespace cuvmm {

namespace {
std::string need_text(const Need& need) {
  return std::string(need.what == Need::What::kDevices ? "devices" : "fabric_channel") +
         (need.at_least ? ">=" : "=") + std::to_string(need.number);
}
}  // namespace

std::string unmet_need(const Case& test_case, const Machine& machine) {
  for (const Need& need : test_case.needs) {
    const int have = need.what == Need::What::kDevices ? machine.devices : machine.fabric_channel;
    if (need.at_least ? have >= need.number : have == need.number) continue;
    return "needs " + need_text(need) + ", there is " + std::to_string(have);
  }
  return {};
}

CUresult expected_result(const Statement& statement) {
  return statement.expected.value_or(CUDA_SUCCESS);
}

}  // namespace cuvmm
