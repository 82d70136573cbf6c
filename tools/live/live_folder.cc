// SPDX-License-Identifier: Apache-2.0
#include "tools/live/live_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

namespace cuvmm::tools {

namespace {

bool usable_parent(const std::string& folder) {
  struct stat status {};
  return ::stat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         ::access(folder.c_str(), W_OK | X_OK) == 0;
}

}  // namespace

std::string live_folder() {
  const char* const chosen = std::getenv("CUVMM_LIVE");
  if (chosen && *chosen && std::string_view(chosen) != "off") {
    return std::filesystem::absolute(chosen).lexically_normal().string();
  }
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime && *runtime == '/' && usable_parent(runtime)) return std::string(runtime) + "/cuvmm";
  const std::string own = "/cuvmm-" + std::to_string(::geteuid());
  if (usable_parent("/dev/shm")) return "/dev/shm" + own;
  std::error_code failed;
  const std::string temporary = std::filesystem::temp_directory_path(failed).string();
  return (failed ? "/tmp" : temporary) + own;
}

std::string make_live_folder(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return std::strerror(errno);
  struct stat status {};
  if (::lstat(folder.c_str(), &status) != 0) return std::strerror(errno);
  if (!S_ISDIR(status.st_mode)) return "it is no folder";
  if (status.st_uid != ::geteuid()) return "it belongs to another user";
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "others may write in it";
  return {};
}

}  // namespace cuvmm::tools
