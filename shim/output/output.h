// SPDX-License-Identifier: Apache-2.0
// Text for the user, which goes only to stderr.
#pragma once

#include <cstddef>
#include <string_view>

namespace cuvmm::shim {

/// Remembers the stderr that the program was started with, and keeps a descriptor of it. Text goes
/// to that file and to no other, whatever the program does with descriptor 2, because the file that
/// has the number later may be the program's database. Called once, at load.
void keep_stderr() noexcept;

/// Called in a child of fork: closes that descriptor, so that a reader of the program's stderr does
/// not wait for a daemon. Descriptor 2 is still used while it stands for that file.
void release_stderr_in_child() noexcept;

/// Writes `text` to that stderr in as few writes as possible. Preserves errno, raises no signal,
/// and drops the text if the stderr is closed. Async-signal-safe; it is no cancellation point.
void write_stderr(std::string_view text) noexcept;

/// The width of that stderr if it is a terminal, in columns; 0 if it is none. Async-signal-safe.
std::size_t stderr_columns() noexcept;

/// From here on write_stderr() drops all text if `silent` (CUVMM_QUIET).
void silence_stderr(bool silent) noexcept;

/// "cuvmm: `text`\n" on stderr.
void say(std::string_view text) noexcept;

}  // namespace cuvmm::shim
