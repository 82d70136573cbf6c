// SPDX-License-Identifier: Apache-2.0
// The code that libraries were loaded from. A driver may accept any bytes, and read them only at
// the first use of the library.
#pragma once

#include <cuda.h>

#include <string>

#include "shim/refusals/code_facts.h"

namespace cuvmm::shim {

/// Makes the table of libraries. Called as the shim is loaded, because a child that is forked while
/// a thread makes the table would wait without end.
void prepare_loaded_code() noexcept;

/// Remembers the code; thread-safe. Remembers nothing if memory runs out, if it knows too many
/// libraries, or if another thread is in the table for long.
void remember_code(CUlibrary library, const CodeInput& code) noexcept;

/// A sentence about the code of a library, for a call that answered `result`; "" if nothing is
/// known to be wrong with it. Throws std::bad_alloc.
std::string loaded_code_facts(CUlibrary library, const CodeTarget& target, CUresult result);

/// Whether a driver answers so because of the code.
bool blames_code(CUresult result);

}  // namespace cuvmm::shim
