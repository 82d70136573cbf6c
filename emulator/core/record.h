// SPDX-License-Identifier: Apache-2.0
// How an area reports a successful call to the model.
#pragma once

#include "emulator/core/emulator.h"
#include "rulebook/check/check.h"

namespace cuvmm::emulator {

/// Records a call that gives up no object, so that no begin() precedes it.
template <class CallStruct>
void record_in_model(Emulator& e, const CallStruct& call, const Facts& facts) {
  ChangeOf<CallStruct> nothing_begun;
  e.model.confirm(call, facts, Origin{}, nothing_begun);
}

}  // namespace cuvmm::emulator
