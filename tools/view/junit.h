// SPDX-License-Identifier: Apache-2.0
// A report as JUnit's XML, for programs that show test results. Each mistake is a failed test.
#pragma once

#include <string>

#include "tools/base/json.h"

namespace cuvmm::tools {

std::string junit_of(const Json& report);

}  // namespace cuvmm::tools
