// SPDX-License-Identifier: Apache-2.0
#include "tools/base/temporary_folder.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

namespace cuvmm::tools {

TemporaryFolder::TemporaryFolder(const std::string& where) {
  std::vector<std::string> places;
  if (const char* const chosen = getenv("TMPDIR"); where.empty() && chosen && *chosen) {
    places.emplace_back(chosen);
  }
  if (where.empty()) places.insert(places.end(), {"/tmp", "/var/tmp", "/dev/shm"});
  if (!where.empty()) places.push_back(where);
  std::string tried;
  for (const std::string& place : places) {
    std::string pattern = place + "/cuvmm-XXXXXX";
    if (mkdtemp(pattern.data())) {
      std::error_code error;
      const auto absolute = std::filesystem::absolute(pattern, error);
      path_ = error ? pattern : absolute.string();
      return;
    }
    tried += (tried.empty() ? "" : "; ") + place + ": " + std::strerror(errno);
  }
  problem_ =
      "no temporary folder can be made (" + tried +
      "). Set TMPDIR to a folder that can be written; a container gets one by `--tmpfs /tmp`";
}

void TemporaryFolder::open_to_other_users() const {
  if (geteuid() == 0 && !path_.empty()) (void)chmod(path_.c_str(), 01733);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty() && !stays_) std::filesystem::remove_all(path_, ignored);
}

}  // namespace cuvmm::tools
