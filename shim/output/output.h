// SPDX-License-Identifier: Apache-2.0
// Text for the user, on stderr and nowhere else.
#pragma once

#include <cstddef>
#include <string_view>

namespace cuvmm::shim {

/// Remembers the stderr that the program was started with, and keeps a descriptor of it. Text goes
/// there and to no other file, whatever the program does with descriptor 2: the file that has the
/// number later may be its database. Once, at load.
void keep_stderr() noexcept;

/// In a child of fork: lets go of that descriptor, so that whoever reads the program's stderr to
/// its end does not wait for a daemon. Descriptor 2 still serves while it is the same file.
void release_stderr_in_child() noexcept;

/// Writes `text` there in as few writes as possible. Keeps errno, raises no signal, and gives up in
/// silence when nothing is left of that stderr. Async-signal-safe; no cancellation point.
void write_stderr(std::string_view text) noexcept;

/// How wide that stderr is, where it is a terminal; 0 where it is none. Async-signal-safe.
std::size_t stderr_columns() noexcept;

/// Turns write_stderr into nothing (CUVMM_QUIET).
void silence_stderr(bool silent) noexcept;

/// "cuvmm: `text`\n" on stderr.
void say(std::string_view text) noexcept;

}  // namespace cuvmm::shim
