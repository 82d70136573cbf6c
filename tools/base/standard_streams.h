// SPDX-License-Identifier: Apache-2.0
// The command's own output. No function throws, because a closed pipe or a full disk must neither
// end cuvmm nor hide the exit code of the program that it runs.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <utility>

namespace cuvmm::tools {

/// Opens those of the descriptors 0, 1 and 2 that are closed. Otherwise a file that cuvmm opens
/// could get such a number, and cuvmm's messages would be written into it. Reads and writes of the
/// descriptors still fail, and a program that cuvmm starts finds them closed.
void reserve_standard_descriptors() noexcept;

/// Writes to stderr. Text that cannot be written is dropped; a closed pipe raises no signal.
void write_error(std::string_view text) noexcept;

/// Writes to stdout through its buffer.
void write_output(std::string_view text) noexcept;

/// Writes the text that write_output() buffered. Returns "", or the reason why output was lost.
std::string finish_output();
/// Whether the output is a pipe whose reader has closed it.
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
