// SPDX-License-Identifier: Apache-2.0
// Makes a page for each GPU and driver of a folder of results, and a list of the pages.
#pragma once

#include <string>
#include <vector>

#include "tools/matrix/result_folder.h"

namespace cuvmm::tools {

struct DriverPage {
  std::string file;  ///< "nvidia-h200-580.159.04.md"
  std::string text;  ///< Markdown, for a folder below docs/
};

/// The pages, and their list as "README.md". Emulators have no page.
std::vector<DriverPage> driver_pages(const ResultFolder& folder, const std::string& command);

}  // namespace cuvmm::tools
