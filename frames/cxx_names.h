// SPDX-License-Identifier: Apache-2.0
// Makes the names of C++ functions readable.
#pragma once

#include <string>
#include <string_view>

namespace cuvmm::frames {

/// "fill(int)" for "_Z4filli". A name that is not mangled stays as it is. A symbol version
/// ("f@@V1") is cut off. Allocates.
std::string demangled(const char* name);

/// The demangled name without the parts that only the standard library's headers add. "std::string"
/// replaces std::__cxx11::basic_string with its default arguments; inline namespaces of the
/// library, default allocators and default comparisons are left out; ">>" replaces "> >".
std::string shortened(std::string_view name);

}  // namespace cuvmm::frames
