#include "tools/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace cuvmm {

namespace {

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

bool special(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

std::string failed(const std::string& path) { return path + ": " + std::strerror(errno); }

}  // namespace

std::string write_whole(const std::string& path, std::string_view text) {
  if (special(path)) {
    const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    const bool ok = fd >= 0 && write_all(fd, text);
    std::string error = ok ? "" : failed(path);
    if (fd >= 0) close(fd);
    return error;
  }
  std::string temporary = path + ".XXXXXX";
  const int fd = mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return failed(path);
  const mode_t mask = umask(0);
  umask(mask);
  // mkstemp makes the file private; a report is as readable as any file the user writes.
  const bool ok = write_all(fd, text) && fchmod(fd, 0666 & ~mask) == 0 && fsync(fd) == 0;
  std::string error = ok ? "" : failed(path);
  if (close(fd) != 0 && ok) error = failed(path);
  if (error.empty() && rename(temporary.c_str(), path.c_str()) != 0) error = failed(path);
  if (!error.empty()) unlink(temporary.c_str());
  return error;
}

std::string cannot_write(const std::string& path) {
  struct stat status;
  if (path.empty()) return "the file name is empty";
  if (special(path)) return access(path.c_str(), W_OK) == 0 ? "" : failed(path);
  if (stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) return path + " is a folder";
  const std::string folder = folder_of(path);
  if (stat(folder.c_str(), &status) != 0) return "the folder " + failed(folder);
  if (!S_ISDIR(status.st_mode)) return folder + " is not a folder";
  if (access(folder.c_str(), W_OK | X_OK) != 0) return "the folder " + failed(folder);
  return "";
}

}  // namespace cuvmm
