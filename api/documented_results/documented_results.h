// SPDX-License-Identifier: Apache-2.0
// The result codes that are documented for a function, and which of them a correct program may get.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/calls.h"

namespace cuvmm {

/// The codes of the function's list in cuda.h, in its order; empty where it has no list.
std::vector<CUresult> documented_results(EntryPoint entry);

/// Whether the function's list has the code.
bool is_documented(EntryPoint entry, CUresult code);

/// The code for a made failure if the user names none: the first documented code that a correct
/// program may get, such as OUT_OF_MEMORY, else a code about the arguments. Nothing if no code is
/// documented.
std::optional<CUresult> usual_failure(EntryPoint entry);

/// Whether the function ends something that the program has: free, release, unmap, destroy, close.
/// If such a call fails, a leak is not the program's mistake.
bool gives_up(EntryPoint entry);

/// "INVALID_VALUE, OUT_OF_MEMORY", for messages.
std::string result_list(const std::vector<CUresult>& codes);

}  // namespace cuvmm
