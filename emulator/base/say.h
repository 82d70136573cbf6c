// SPDX-License-Identifier: Apache-2.0
// What the emulator prints on stderr. The text never goes to another file, and it never ends the
// program: it raises no signal (a pipe that nobody reads, RLIMIT_FSIZE) and allocates nothing.
#pragma once

#include <string_view>

namespace cuvmm::emulator {

/// Remembers which file stderr is, the first time; done when the library is loaded. A program that
/// closes its descriptors later may give the number 2 to a file of its own.
void remember_stderr() noexcept;

/// "cuvmm emulator: TEXT\n", for what keeps the driver from working: a bad CUVMM_DEVICES, say.
/// Nothing, where descriptor 2 is a regular file that it was not at first.
void complain(std::string_view text) noexcept;

/// The same for what is merely worth knowing: nothing under CUVMM_QUIET.
void note(std::string_view text) noexcept;

}  // namespace cuvmm::emulator
