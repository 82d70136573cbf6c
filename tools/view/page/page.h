// SPDX-License-Identifier: Apache-2.0
// A report as one page that loads nothing from anywhere: tools/view/page/, made a string at build
// time, around the report's data.
#pragma once

#include <string>

#include "tools/base/json.h"

namespace cuvmm::tools {

/// Holds "@DATA@" once, where the JSON goes.
extern const char* const kReportPage;

std::string page_of(const Json& report);

}  // namespace cuvmm::tools
