// SPDX-License-Identifier: Apache-2.0
// What the command says on its own streams. A closed pipe or a full disk behind one of them is no
// reason to die, nor to lose the exit code of the program that was run: nothing here throws.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <utility>

namespace cuvmm::tools {

/// Opens descriptors 0, 1 and 2 where they are closed, so that no file of ours gets one of these
/// numbers and then our text. They stay useless, and closed for a program that is started.
void reserve_standard_descriptors() noexcept;

/// Writes to stderr. What cannot be written is dropped; a closed pipe raises no signal.
void write_error(std::string_view text) noexcept;

/// Writes to stdout through its buffer.
void write_output(std::string_view text) noexcept;

/// Writes out what write_output buffered. "" or why some of the output was lost.
std::string finish_output();
/// Whether the output is a pipe whose reader has gone.
bool nobody_reads_output();

template <class... Arguments>
void print_error(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  write_error(fmt::format(format, std::forward<Arguments>(arguments)...));
}

template <class... Arguments>
void print_output(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  write_output(fmt::format(format, std::forward<Arguments>(arguments)...));
}

}  // namespace cuvmm::tools
