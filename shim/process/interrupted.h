// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cuvmm::shim {

/// Whether the calling code runs in a signal handler: then a thread, this one, may stand in the
/// middle of malloc or of our own work. Looks at the stack; where a frame cannot be unwound, what
/// lies beyond it is not seen. Async-signal-safe with glibc 2.35 and newer (before, the unwinder
/// takes the loader's lock).
bool in_signal_handler() noexcept;

}  // namespace cuvmm::shim
