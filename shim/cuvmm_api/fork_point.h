// SPDX-License-Identifier: Apache-2.0
// `cuvmm fail --each --fork-server`: the program starts once. At its fork point it waits for
// commands, and for each command makes a child that goes on from there. The fork point is the
// program's call of cuvmm_fork_point() (include/cuvmm/cuvmm.h), or else its first cuInit, the last
// moment at which a process that uses CUDA may fork.
#pragma once

namespace cuvmm::shim {

/// The function that replaces the driver's cuInit; null for any other name, or if no fork server is
/// wanted (CUVMM_FORK_SERVER, the path of a socket).
void* fork_point_function(const char* name, void* driver_function);

/// Called when the program is at a fork point of its own. Returns true in each child that goes on
/// from there; false if no fork server is wanted, or if a fork point came before. `threads_may_go`:
/// the process forks even if other threads exist besides this one, which must be its main thread.
bool at_fork_point(bool threads_may_go) noexcept;

}  // namespace cuvmm::shim
