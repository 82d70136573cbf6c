// SPDX-License-Identifier: Apache-2.0
// Calls through pointers of cuGetProcAddress that are not checked.
#pragma once

#include <string_view>

namespace cuvmm::shim {

/// The exported stub of the driver's function `answer`, for a query to cuGetProcAddress about a
/// function that is not checked and changes memory: the first call through it is noted, as a call
/// of the exported symbol is. Null for other functions.
void* counting_stub(std::string_view query, const void* answer);

}  // namespace cuvmm::shim
