// SPDX-License-Identifier: Apache-2.0
// Messages of the emulator on stderr. A message never goes to another file, and it never ends the
// program: it raises no signal (a pipe that nobody reads, RLIMIT_FSIZE) and allocates nothing.
#pragma once

#include <string_view>

namespace cuvmm::emulator {

/// Remembers which file stderr is, at the first call; the library calls it when it is loaded. A
/// program that closes its descriptors later may give the number 2 to a file of its own.
void remember_stderr() noexcept;

/// Writes "cuvmm emulator: TEXT\n", for causes that keep the driver from working, such as a bad
/// CUVMM_DEVICES. Writes nothing where descriptor 2 is a regular file that it was not at first.
void complain(std::string_view text) noexcept;

/// Writes like complain(), for facts that are merely useful to know; writes nothing under
/// CUVMM_QUIET.
void note(std::string_view text) noexcept;

}  // namespace cuvmm::emulator
