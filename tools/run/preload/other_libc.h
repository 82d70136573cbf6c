// SPDX-License-Identifier: Apache-2.0
// The programs of a run that use another C library than glibc. cuvmm's shim cannot be loaded into
// them.
#pragma once

#include <string>

namespace cuvmm::tools {

/// shim/other_libc leaves a file in the folder of the reports, named PID-NUMBER and this suffix.
inline constexpr const char* kOtherLibcSuffix = ".other-libc";

/// A sentence that names these programs; "" if there were none.
std::string other_libc_note(const std::string& report_folder);

}  // namespace cuvmm::tools
