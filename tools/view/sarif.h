// SPDX-License-Identifier: Apache-2.0
// A report as SARIF 2.1.0, for code scanning and editors.
#pragma once

#include <string>

#include "tools/base/json.h"

namespace cuvmm::tools {

/// Paths of files below `root` become relative to it, because a host of repositories expects that.
/// `root` "": the working folder of this process.
std::string sarif_of(const Json& report, std::string root = "");

}  // namespace cuvmm::tools
