// SPDX-License-Identifier: Apache-2.0
// The path of a call that has no entry point, and whose arguments are wrong.
#pragma once

#include <string>
#include <utility>

#include "shim/session/session.h"

namespace cuvmm::shim {

template <class Make>
CUresult Session::call_with(const char* function, Violations wrong, const Caller& caller,
                            const Make& make) {
  if (off()) return make();
  for (Violation& v : wrong) v.message.insert(0, std::string(function) + ": ");
  const Origin here{.call = next_number()};
  Answer answer;
  if (options_.enforce) enforce(wrong, answer);
  if (!answer.enforced) {
    InFlight now{nullptr, [](const void*) { return Call(); }, &wrong, &here, caller};
    const InFlightScope scope(now);
    answer.result = make();
  }
  const CUresult result = answer.result;
  const int driver_errno = t_state.error();
  // An ended object whose handle the driver accepts was given out again, unseen.
  if (result != CUDA_SUCCESS || wrong.front().certain)
    report_wrong({}, answer, std::move(wrong), here.call, caller);
  t_state.error() = driver_errno;
  return result;
}

}  // namespace cuvmm::shim
