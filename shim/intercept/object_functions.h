// SPDX-License-Identifier: Apache-2.0
// The functions that make plain objects and that nothing else of cuvmm follows.
#pragma once

namespace cuvmm::shim {

/// What stands for the driver's function `driver_function`, asked for by this name (a symbol's, or
/// that of cuGetProcAddress), or null: it passes the call on and notes what was made or ended.
void* object_function(const char* name, void* driver_function);

}  // namespace cuvmm::shim
