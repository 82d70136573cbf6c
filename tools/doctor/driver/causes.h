// SPDX-License-Identifier: Apache-2.0
// Why a driver answers a code, as far as documents and threads tell, held against what the other
// checks saw here.
#pragma once

#include <cuda.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tools/doctor/check.h"

namespace cuvmm::doctor {

/// CUmemAllocationHandleType; old headers lack the second.
inline constexpr int kDescriptor = 1, kFabric = 8;

/// A "does not" for `id`: `call` answered `code` (where: " on device 1" or so). The known causes
/// of that answer are looked up among `seen`: one of them that does not work is named, and its fix
/// is the fix; where all of them work, the cause is said to be unknown.
/// `handle_type` is that of the trial, 0 where there is none.
Check refused(std::string_view id, std::string_view call, CUresult code, int handle_type,
              std::string_view where, std::span<const Check> seen);

/// Why `call` answered `code`, by what the other checks saw.
struct KnownCause {
  std::string because;
  std::string check;  ///< the one of `seen` that does not work
  std::string fix;
  std::string source;
};
/// Nothing where no cause is known, or where none of `seen` shows it.
std::optional<KnownCause> known_cause(std::string_view call, CUresult code, int handle_type,
                                      std::span<const Check> seen);

/// "cuInit answered CUDA_ERROR_NO_DEVICE (100)".
std::string answer_text(std::string_view call, CUresult code);

}  // namespace cuvmm::doctor
