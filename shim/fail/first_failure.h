// SPDX-License-Identifier: Apache-2.0
// Called at the first call of a process that is made to fail.
#pragma once

namespace cuvmm::shim {

class Injector;

/// Writes the log for the case that the process is killed later; shim/fail/fail_log.cc defines it.
void note_first_failure(Injector& injector) noexcept;

}  // namespace cuvmm::shim
