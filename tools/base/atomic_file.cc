// SPDX-License-Identifier: Apache-2.0
#include "tools/base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "api/posix/whole_file.h"

namespace cuvmm::tools {

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

// The file that `path` leads to through links; the file need not exist. The links stay, because the
// user made them. "" if the links have no end.
std::string target_of(const std::string& path) {
  constexpr int kMostLinks = 40;  // the kernel's limit
  namespace fs = std::filesystem;
  fs::path target = path;
  for (int i = 0; i < kMostLinks; ++i) {
    std::error_code error;
    const fs::path next = fs::read_symlink(target, error);
    if (error) return target.string();
    target = target.parent_path() / next;  // an absolute `next` replaces the path
  }
  errno = ELOOP;
  return "";
}

// Gives the new file `fd`, which only this user can read so far, the mode and the owner of the file
// that it replaces, so that a private file stays private. If there is no such file, the new one
// gets the mode of any file that the user makes.
bool take_over_mode(int fd, const std::string& target) {
  struct stat there, own;
  if (stat(target.c_str(), &there) != 0) {
    const mode_t mask = umask(0);
    umask(mask);
    return fchmod(fd, 0666 & ~mask) == 0;
  }
  mode_t mode = there.st_mode & 0777;
  if (fstat(fd, &own) != 0) return false;
  const bool foreign = there.st_uid != own.st_uid || there.st_gid != own.st_gid;
  if (foreign && fchown(fd, there.st_uid, there.st_gid) != 0 &&
      fchown(fd, static_cast<uid_t>(-1), there.st_gid) != 0 && there.st_gid != own.st_gid) {
    mode &= ~static_cast<mode_t>(S_IRWXG);  // these rights were for another group
  }
  return fchmod(fd, mode) == 0;
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
  const std::string target = target_of(path);
  if (target.empty()) return failed(path);
  std::string temporary = target + ".XXXXXX";
  const int fd = mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return failed(path);
  const bool ok = write_all(fd, text) && take_over_mode(fd, target) && fsync(fd) == 0;
  std::string error = ok ? "" : failed(path);
  if (close(fd) != 0 && ok) error = failed(path);
  if (error.empty() && rename(temporary.c_str(), target.c_str()) != 0) error = failed(path);
  if (!error.empty()) unlink(temporary.c_str());
  return error;
}

std::string replace_by(const std::string& path, const std::string& file) {
  if (special(path)) {  // root's rename would replace the device by a file
    const WholeFile read = whole_file(file);
    std::string error =
        read.error.empty() ? write_whole(path, read.text) : file + ": " + read.error;
    if (error.empty()) unlink(file.c_str());
    return error;
  }
  const std::string target = target_of(path);
  if (target.empty()) return failed(path);
  if (access(target.c_str(), F_OK) == 0) {
    const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
    const bool ok = fd >= 0 && take_over_mode(fd, target);
    std::string error = ok ? "" : failed(file);
    if (fd >= 0) close(fd);
    if (!ok) return error;
  }
  return rename(file.c_str(), target.c_str()) == 0 ? "" : failed(path);
}

std::string cannot_write(const std::string& path) {
  struct stat status;
  if (path.empty()) return "the file name is empty";
  if (special(path)) return access(path.c_str(), W_OK) == 0 ? "" : failed(path);
  if (stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) return path + " is a folder";
  const std::string target = target_of(path);
  if (target.empty()) return failed(path);
  const std::string folder = folder_of(target);
  if (stat(folder.c_str(), &status) != 0) return "the folder " + failed(folder);
  if (!S_ISDIR(status.st_mode)) return folder + " is not a folder";
  if (access(folder.c_str(), W_OK | X_OK) != 0) return "the folder " + failed(folder);
  // Tries it, because access() lets root write into /proc and read-only file systems.
  std::string trial = target + ".XXXXXX";
  const int fd = mkostemp(trial.data(), O_CLOEXEC);
  if (fd < 0) return failed(path);
  close(fd);
  unlink(trial.c_str());
  return "";
}

}  // namespace cuvmm::tools
