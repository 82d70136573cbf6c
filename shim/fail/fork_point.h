// SPDX-License-Identifier: Apache-2.0
// `cuvmm fail --each --fork-server`: the program starts once. At its first cuInit, the last moment
// at which a process that uses CUDA may fork, it waits for commands, and each makes a child that
// goes on from there.
#pragma once

namespace cuvmm::shim {

/// Stands for the driver's cuInit; null for any other name, or where nobody asked for it
/// (CUVMM_FORK_SERVER, the path of a socket).
void* fork_point_function(const char* name, void* driver_function);

}  // namespace cuvmm::shim
