// SPDX-License-Identifier: Apache-2.0
// The known causes of a driver's answer, from documents and from threads of users. A cause counts
// only if another check saw it on this machine.
#pragma once

#include <cuda.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tools/doctor/check.h"

namespace cuvmm::doctor {

/// Values of CUmemAllocationHandleType. Numbers, because old headers lack the fabric handle.
inline constexpr int kDescriptor = 1, kFabric = 8;

/// A "does not" for `id`: `call` answered `code`. `where` is text such as " on device 1", or "". If
/// one of `seen` shows a known cause of that answer, the result names that check and takes its fix.
/// If all checks of the known causes work, the result names them, and says that they work here.
/// `handle_type`: handle type of the trial; 0: none.
Check refused(std::string_view id, std::string_view call, CUresult code, int handle_type,
              std::string_view where, std::span<const Check> seen);

/// The reason why `call` answered `code`, and the check that shows it.
struct KnownCause {
  std::string because;
  std::string check;  ///< id of the check of `seen` that shows the cause
  std::string fix;
  std::string source;
  Action action = Action::kNone;
};
/// Nothing if no cause is known, or if none of `seen` shows a known cause.
std::optional<KnownCause> known_cause(std::string_view call, CUresult code, int handle_type,
                                      std::span<const Check> seen);

/// The known cause of an answer of a machine that cannot be asked; `check` is empty.
std::optional<KnownCause> likely_cause(std::string_view call, CUresult code, int handle_type);

/// "cuInit answered CUDA_ERROR_NO_DEVICE (100)".
std::string answer_text(std::string_view call, CUresult code);

}  // namespace cuvmm::doctor
