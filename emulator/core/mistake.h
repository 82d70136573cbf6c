// SPDX-License-Identifier: Apache-2.0
// Where a deliberate mistake (emulator/base/mutation.h) meets the calls: behind each of them, and
// nowhere else. What the mistake changes of the rules' answers is in the profile already.
#pragma once

#include "emulator/base/mutation.h"
#include "emulator/core/emulator.h"
#include "rulebook/check/check.h"

namespace cuvmm::emulator {

/// What a call that was performed does beside that: most calls nothing.
template <class CallStruct>
void slip(Emulator&, const Mutation&, const CallStruct&) {}
/// Memory of another process is a copy of what it held instead of being shared.
void slip(Emulator& e, const Mutation& mistake, const calls::MemImportFromShareableHandle& call);
void slip(Emulator& e, const Mutation& mistake, const calls::IpcOpenMemHandle& call);

/// The answer to a call of which performing it answered `result`; `passed`: the rules that it
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
