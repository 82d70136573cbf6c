// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace cuvmm::tools {

/// What a file of /proc says; "" where its process is gone, or is not this user's to look at.
std::string proc_text(const std::string& path);

}  // namespace cuvmm::tools
