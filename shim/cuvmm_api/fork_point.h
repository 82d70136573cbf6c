// SPDX-License-Identifier: Apache-2.0
// `cuvmm fail --each --fork-server`: the program starts once. At its fork point it waits for
// commands, and each makes a child that goes on from there. That is where it calls
// cuvmm_fork_point() (include/cuvmm/cuvmm.h), or else its first cuInit, the last moment at which a
// process that uses CUDA may fork.
#pragma once

namespace cuvmm::shim {

/// Stands for the driver's cuInit; null for any other name, or where nobody asked for it
/// (CUVMM_FORK_SERVER, the path of a socket).
void* fork_point_function(const char* name, void* driver_function);

/// The program is at a fork point of its own. True in each child that goes on from there; false
/// where nobody asked, or a fork point came before. `threads_may_go`: the process forks although it
/// has other threads than this one, its main thread.
bool at_fork_point(bool threads_may_go) noexcept;

}  // namespace cuvmm::shim
