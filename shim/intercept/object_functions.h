// SPDX-License-Identifier: Apache-2.0
// The functions that make or use plain objects and that have no wrapper of their own.
#pragma once

namespace cuvmm::shim {

/// Returns the function that stands for the driver's `driver_function`, by this name (a symbol's,
/// or that of cuGetProcAddress), or null: it forwards the call and notes the objects that the call
/// made or ended.
void* object_function(const char* name, void* driver_function);

}  // namespace cuvmm::shim
