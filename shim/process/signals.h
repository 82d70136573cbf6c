// SPDX-License-Identifier: Apache-2.0
// Fatal signals. cuvmm writes its report, and then the process dies of the signal as it would have
// without cuvmm.
#pragma once

namespace cuvmm::shim {

/// Takes SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT where the program left them at their default.
/// The process still dies of the same signal, with its core dump.
void handle_fatal_signals() noexcept;

/// Ends the process in `seconds` with exit_group(status), whatever it is stuck in then.
void exit_if_stuck(unsigned seconds, int status) noexcept;

}  // namespace cuvmm::shim
