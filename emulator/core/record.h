// SPDX-License-Identifier: Apache-2.0
// How an area tells the model of a call that succeeded.
#pragma once

#include "emulator/core/emulator.h"
#include "rulebook/check/check.h"

namespace cuvmm::emulator {

/// Of a call that gives up nothing, and hence has begun nothing.
template <class CallStruct>
void record_in_model(Emulator& e, const CallStruct& call, const Facts& facts) {
  ChangeOf<CallStruct> nothing_begun;
  e.model.confirm(call, facts, Origin{}, nothing_begun);
}

}  // namespace cuvmm::emulator
