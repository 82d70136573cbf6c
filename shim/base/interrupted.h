// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cuvmm::shim {

/// Whether the calling code runs in a signal handler: then a thread, this one, may stand in the
/// middle of malloc or of our own work. Looks at the stack; where a frame cannot be unwound, what
/// lies beyond it is not seen. Async-signal-safe with glibc 2.35 and newer (before, the unwinder
/// takes the loader's lock).
bool in_signal_handler() noexcept;

/// Whether the C library's exit() is among the calling functions, also of the code that a signal
/// interrupted. Async-signal-safe as above. False until somebody noted where it begins.
bool below_exit() noexcept;
void note_exit_function(const void* begin) noexcept;

}  // namespace cuvmm::shim
