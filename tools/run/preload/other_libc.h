// SPDX-License-Identifier: Apache-2.0
// Programs of a run that another C library than glibc started: cuvmm's shim cannot be loaded there.
#pragma once

#include <string>

namespace cuvmm::tools {

/// What shim/other_libc left in the folder of the reports is named PID-NUMBER and this.
inline constexpr const char* kOtherLibcSuffix = ".other-libc";

/// A sentence that names them; "" where there was none.
std::string other_libc_note(const std::string& report_folder);

}  // namespace cuvmm::tools
