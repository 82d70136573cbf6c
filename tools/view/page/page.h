// SPDX-License-Identifier: Apache-2.0
// A report as one HTML page that loads no other file. The build embeds the files of
// tools/view/page/ as a string, and page_of() puts the report's data into it.
#pragma once

#include <string>

#include "tools/base/json.h"

namespace cuvmm::tools {

/// Has "@DATA@" once, in place of the JSON.
extern const char* const kReportPage;

std::string page_of(const Json& report);

}  // namespace cuvmm::tools
