// SPDX-License-Identifier: Apache-2.0
// Finds the function that we stand in front of: another library's definition of the same symbol.
#pragma once

#include <cstdint>

namespace cuvmm::shim {

/// What a caller in `caller` (its return address) would have reached as `name` without this
/// library: the next definition in the program's scope; that of the caller's own dependencies where
/// the program's has none (a plugin opened with RTLD_LOCAL, as Python opens extensions), or where
/// the two are different copies of libcudart; at last any libcudart that is loaded. Null when there
/// is none. Takes the loader's locks; errno stays.
void* next_function(const char* name, std::uintptr_t caller) noexcept;

}  // namespace cuvmm::shim
