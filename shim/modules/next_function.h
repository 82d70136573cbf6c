// SPDX-License-Identifier: Apache-2.0
// Finds the function behind one of the shim's: another library's definition of the symbol.
#pragma once

#include <cstdint>

namespace cuvmm::shim {

/// The function that a caller in `caller` (its return address) would reach as `name` without this
/// library: the next definition in the program's scope; that of the caller's own dependencies if
/// the program's scope has none (a plugin opened with RTLD_LOCAL, as Python opens extensions), or
/// if the two are different copies of libcudart; at last that of any loaded libcudart. Null if
/// there is none. Takes the loader's locks; preserves errno.
void* next_function(const char* name, std::uintptr_t caller) noexcept;

}  // namespace cuvmm::shim
