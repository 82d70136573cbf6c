// SPDX-License-Identifier: Apache-2.0
#include "shim/output/private_descriptor.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace cuvmm::shim {

namespace {

// High, but below the 1024 numbers that select() can handle and below the limit.
int first_number() {
  constexpr rlim_t kHighest = 1024, kRoom = 24, kLowest = 64;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = kHighest;
  const rlim_t top = std::min(limit.rlim_cur, kHighest);
  return static_cast<int>(top > kLowest ? top - kRoom : 3);
}

// Makes the system call itself, because close() is a cancellation point.
void close_now(int fd) { ::syscall(SYS_close, fd); }

}  // namespace

void PrivateDescriptor::keep(int fd) noexcept {
  const int saved = errno;
  keep_copy(fd);
  if (fd >= 0 && fd_ != fd) close_now(fd);
  errno = saved;
}

void PrivateDescriptor::keep_copy(int fd) noexcept {
  const int saved = errno;
  close();
  if (fd >= 0) remember(::fcntl(fd, F_DUPFD_CLOEXEC, first_number()));
  errno = saved;
}

void PrivateDescriptor::remember(int fd) noexcept {
  struct stat file;
  if (fd < 0 || ::fstat(fd, &file) != 0) return;
  fd_ = fd;
  known_ = true;
  device_ = file.st_dev;
  inode_ = file.st_ino;
}

bool PrivateDescriptor::is_same_file(int fd) const noexcept {
  if (fd < 0 || !known_) return false;
  const int saved = errno;
  struct stat file;
  const bool same = ::fstat(fd, &file) == 0 && file.st_dev == device_ && file.st_ino == inode_;
  errno = saved;
  return same;
}

void PrivateDescriptor::close() noexcept {
  close_but_remember();
  known_ = false;
}

void PrivateDescriptor::close_but_remember() noexcept {
  const int own = get();
  const int saved = errno;
  if (own >= 0) close_now(own);
  errno = saved;
  fd_ = -1;
}

}  // namespace cuvmm::shim
