// SPDX-License-Identifier: Apache-2.0
#include "emulator/base/system.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <limits>

#include "api/posix/cancel_off.h"

namespace cuvmm::emulator {

namespace {

// Whether a file may grow to `end` bytes; sets EFBIG if not, as pwrite does in a program that
// ignores SIGXFSZ.
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

// The kernel compares 32 bits; syscall() is no cancellation point. The futex operations are not the
// private ones, because other processes share the memory.
void sys_wait_while(const std::atomic<std::uint64_t>& number, std::uint64_t seen,
                    std::chrono::nanoseconds time) {
  static_assert(std::endian::native == std::endian::little, "the lower half comes first");
  constexpr std::int64_t kSecond = 1'000'000'000;
  timespec most{};
  most.tv_sec = static_cast<time_t>(time.count() / kSecond);
  most.tv_nsec = static_cast<long>(time.count() % kSecond);
  syscall(SYS_futex, &number, FUTEX_WAIT, static_cast<std::uint32_t>(seen), &most, nullptr, 0);
}

void sys_wake_all(const std::atomic<std::uint64_t>& number) {
  syscall(SYS_futex, &number, FUTEX_WAKE, std::numeric_limits<int>::max(), nullptr, nullptr, 0);
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
