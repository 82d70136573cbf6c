// SPDX-License-Identifier: Apache-2.0
// Launches that the driver refused: arguments that name no usable memory are wrong all the same,
// and may be the reason.
#include <algorithm>
#include <iterator>
#include <utility>

#include "shim/session/session_run.h"

namespace cuvmm::shim {

namespace {

// These codes say nothing about the call: the driver has not begun, or has ended.
bool looked_at_nothing(CUresult result) {
  return result == CUDA_ERROR_NOT_INITIALIZED || result == CUDA_ERROR_DEINITIALIZED;
}

// The other rules about a launch concern its order among other work, and a refused launch has none.
bool about_an_argument(Rule rule) {
  constexpr Rule kThese[] = {Rule::kLaunchMapped, Rule::kLaunchAlive, Rule::kLaunchAccess};
  return std::ranges::find(kThese, rule) != std::end(kThese);
}

}  // namespace

void Session::refused_launch(const Call& call, CUresult result, const Violations& violations,
                             const Caller& caller) {
  if (looked_at_nothing(result)) return;
  Violations given;
  for (const Violation& each : violations) {
    if (about_an_argument(each.rule)) given.push_back(each);
  }
  if (given.empty()) return;
  Origin here;
  number(here);
  report(call, std::move(given), {.result = result}, here.call, capture_stack(caller));
}

}  // namespace cuvmm::shim
