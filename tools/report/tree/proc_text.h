// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace cuvmm::tools {

/// The content of a file in /proc; "" if its process has ended, or this user may not read it.
std::string proc_text(const std::string& path);

}  // namespace cuvmm::tools
