// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cuvmm::shim {

/// Whether the calling code runs in a signal handler: then this thread may stand in the middle of
/// malloc or of the shim's own work. Walks the stack; frames beyond one that cannot be unwound are
/// not seen. Async-signal-safe with glibc 2.35 and newer (before, the unwinder takes the loader's
/// lock).
bool in_signal_handler() noexcept;

/// Whether the C library's exit() is among the calling functions, also those of the code that a
/// signal interrupted. Async-signal-safe under the condition above. False until
/// note_exit_function() has given the address of exit().
bool below_exit() noexcept;
void note_exit_function(const void* begin) noexcept;

}  // namespace cuvmm::shim
