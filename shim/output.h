// Text for the user, on stderr and nowhere else.
#pragma once

#include <string_view>

namespace cuvmm::shim {

/// Writes `text` to descriptor 2 in as few writes as possible. Keeps errno, raises no SIGPIPE, and
/// gives up in silence when stderr is closed. Async-signal-safe.
void write_stderr(std::string_view text) noexcept;

/// Turns write_stderr into nothing (CUVMM_QUIET).
void silence_stderr(bool silent) noexcept;

/// "cuvmm: `text`\n" on stderr.
void say(std::string_view text) noexcept;

}  // namespace cuvmm::shim
