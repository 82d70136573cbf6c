// SPDX-License-Identifier: Apache-2.0
#include "emulator/machine/system.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <thread>

#include "api/posix/cancel_off.h"

namespace cuvmm::emulator {

namespace {

// Whether a file may reach this size; EFBIG if not, as for a program that ignores SIGXFSZ.
bool allowed(std::uint64_t end) {
  rlimit limit{};
  const bool limited = getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  const auto largest = static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());
  if (end <= (limited ? limit.rlim_cur : largest)) return true;
  errno = EFBIG;
  return false;
}

}  // namespace

int sys_open(const char* path, int flags) {
  const CancelOff no_cancel;
  return open(path, flags);
}

void sys_close(int fd) {
  const CancelOff no_cancel;
  close(fd);
}

ssize_t sys_read(int fd, void* out, std::size_t size) {
  const CancelOff no_cancel;
  return read(fd, out, size);
}

ssize_t sys_pread(int fd, void* out, std::size_t size, std::uint64_t offset) {
  const CancelOff no_cancel;
  return pread(fd, out, size, static_cast<off_t>(offset));
}

bool sys_random(void* out, std::size_t size) {
  const CancelOff no_cancel;
  return getrandom(out, size, 0) == static_cast<ssize_t>(size);
}

void sys_sleep(std::chrono::microseconds time) {
  const CancelOff no_cancel;
  std::this_thread::sleep_for(time);
}

ssize_t sys_pwrite(int fd, const void* bytes, std::size_t size, std::uint64_t offset) {
  if (size > std::numeric_limits<std::uint64_t>::max() - offset || !allowed(offset + size)) {
    return -1;
  }
  const CancelOff no_cancel;
  return pwrite(fd, bytes, size, static_cast<off_t>(offset));
}

bool sys_resize(int fd, std::uint64_t size) {
  return allowed(size) && ftruncate(fd, static_cast<off_t>(size)) == 0;
}

}  // namespace cuvmm::emulator
