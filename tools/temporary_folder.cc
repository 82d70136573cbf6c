// SPDX-License-Identifier: Apache-2.0
#include "tools/temporary_folder.h"

#include <stdlib.h>

#include <filesystem>
#include <system_error>

namespace cuvmm::tools {

TemporaryFolder::TemporaryFolder(const std::string& where) {
  const char* const chosen = getenv("TMPDIR");
  const std::string base = !where.empty() ? where : chosen && *chosen ? chosen : "/tmp";
  std::string pattern = base + "/cuvmm-XXXXXX";
  if (mkdtemp(pattern.data())) {
    std::error_code error;
    const auto absolute = std::filesystem::absolute(pattern, error);
    path_ = error ? pattern : absolute.string();
  }
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty() && !kept_) std::filesystem::remove_all(path_, ignored);
}

}  // namespace cuvmm::tools
