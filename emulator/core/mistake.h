// SPDX-License-Identifier: Apache-2.0
// Where a deliberate mistake (emulator/base/mutation.h) takes effect: after each call, and nowhere
// else. The profile already contains the mistake's changes to the rules' answers.
#pragma once

#include "emulator/base/mutation.h"
#include "emulator/core/emulator.h"
#include "rulebook/check/check.h"

namespace cuvmm::emulator {

/// Makes the deliberate mistake after a call that was performed; does nothing for most calls.
template <class CallStruct>
void slip(Emulator&, const Mutation&, const CallStruct&) {}
/// Replaces the shared memory of another process by a copy of its contents.
void slip(Emulator& e, const Mutation& mistake, const calls::MemImportFromShareableHandle& call);
void slip(Emulator& e, const Mutation& mistake, const calls::IpcOpenMemHandle& call);

/// The answer to a call that perform() answered with `result`; `passed`: the rules that the call
/// breaks and that nothing refused.
template <class CallStruct>
CUresult mistaken(Emulator& e, const CallStruct& call, const Violations& passed, CUresult result) {
  const Mutation* const mistake = e.mistake();
  if (!mistake) [[likely]]
    return result;
  if (result != CUDA_SUCCESS) return mistake->hides_one_of(passed) ? kUnperformed : result;
  slip(e, *mistake, call);
  return result;
}

}  // namespace cuvmm::emulator
