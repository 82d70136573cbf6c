#include "tools/temporary_folder.h"

#include <stdlib.h>

#include <filesystem>
#include <system_error>

namespace cuvmm {

TemporaryFolder::TemporaryFolder() {
  const char* base = getenv("TMPDIR");
  std::string pattern = std::string(base && *base ? base : "/tmp") + "/cuvmm-XXXXXX";
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

}  // namespace cuvmm
