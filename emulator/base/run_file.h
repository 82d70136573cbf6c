// SPDX-License-Identifier: Apache-2.0
// The file by which the emulator tells `cuvmm run` what it did not do for the processes of the run
// (tools/run/launch_count.h).
#pragma once

#include <cstdint>

namespace cuvmm::emulator {

/// Opens the file of CUVMM_LAUNCH_COUNT; -1 where no run wants it. It begins with a counter of
/// eight bytes, and lines follow.
int open_run_file(int flags) noexcept;

/// Appends a line. No process tears a line of another.
void tell_run(const char* line) noexcept;

/// The line about a function that is not emulated: this and its name.
inline constexpr char kNotEmulatedLine = '\t';
/// The line about a kernel that was checked: this and its name.
inline constexpr char kCheckedLine = '\v';
void tell_not_emulated(const char* function) noexcept;

}  // namespace cuvmm::emulator
