// SPDX-License-Identifier: Apache-2.0
// Names of C++ functions for people.
#pragma once

#include <string>
#include <string_view>

namespace cuvmm::frames {

/// "fill(int)" of "_Z4filli". Other names stay. A symbol version ("f@@V1") goes. Allocates.
std::string demangled(const char* name);

/// The same name without what the compiler's own headers put between: "std::string" for
/// std::__cxx11::basic_string with its usual arguments, no inline namespaces of the library, no
/// default allocators and comparisons, ">>" for "> >".
std::string shortened(std::string_view name);

}  // namespace cuvmm::frames
