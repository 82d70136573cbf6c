// SPDX-License-Identifier: Apache-2.0
// The first call of a process that was made to fail.
#pragma once

namespace cuvmm::shim {

class Injector;

/// Writes what a process leaves that is killed later; shim/fail/fail_log.cc has it.
void note_first_failure(Injector& injector) noexcept;

}  // namespace cuvmm::shim
