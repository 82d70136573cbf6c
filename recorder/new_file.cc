// SPDX-License-Identifier: Apache-2.0
#include "recorder/new_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "api/posix/cancel_off.h"
#include "api/posix/image_name.h"
#include "api/posix/lost_pages.h"
#include "api/posix/process_start.h"
#include "recorder/shared_words.h"
#include "recorder/ticks.h"

namespace cuvmm::recorder {

namespace {

const char* suffix(Section section) {
  switch (section) {
    case Section::kLastCalls:
      return ".ring";
    case Section::kHoldings:
      return ".live";
    case Section::kTimeline:
      return ".timeline";
  }
  return "";
}

// A file larger than the process's limit would raise SIGXFSZ.
bool size_is_allowed(std::size_t bytes) noexcept {
  rlimit largest{};
  return ::getrlimit(RLIMIT_FSIZE, &largest) != 0 || largest.rlim_cur >= bytes;
}

}  // namespace

std::string file_in(const std::string& folder, Section section) {
  return folder + "/" + image_name() + suffix(section);
}

int NewFile::create(const std::string& path, const Shape& shape, std::size_t first) noexcept {
  const CancelOff no_cancel;
  if (!size_is_allowed(shape.bytes)) return EFBIG;
  try {
    path_ = path;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return errno;
  int error = ::ftruncate(fd, static_cast<off_t>(shape.bytes)) == 0 ? 0 : errno;
  struct stat status {};
  if (error == 0 && ::fstat(fd, &status) != 0) error = errno;
  device_ = status.st_dev;
  inode_ = status.st_ino;
  if (error == 0) error = ::posix_fallocate(fd, 0, static_cast<off_t>(first));
  if (error == 0) {
    void* const memory = ::mmap(nullptr, shape.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
      error = errno;
    } else {
      memory_ = memory;
      shape_ = shape;
      refused_ = 0;
      guard_pages(memory_, shape_.bytes);
      begin_header(header(), shape_);
    }
  }
  ::close(fd);
  if (error != 0) ::unlink(path.c_str());
  return error;
}

void NewFile::describe(const std::string& driver) noexcept {
  FileHeader& to = header();
  to.start = process_start("self");
  to.pid_namespace = pid_namespace();
  const RunId run = run_of_this_process();
  to.run_pid = run.pid;
  to.run_start = run.start;
  const ssize_t length = ::readlink("/proc/self/exe", to.program, sizeof to.program - 1);
  if (length < 0) to.program[0] = '\0';
  std::copy_n(driver.data(), std::min(driver.size(), sizeof to.driver - 1), to.driver);
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  std::snprintf(to.visible, sizeof to.visible, "%s", visible ? visible : "-");
}

void NewFile::publish() noexcept { __atomic_store_n(&header().magic, kMagic, __ATOMIC_RELEASE); }

// grow() allocates pages before they are written, because a store into a full file system would end
// the program by SIGBUS.
bool NewFile::grow(std::size_t offset, std::size_t bytes) noexcept {
  if (refused_ != 0 && !std::has_single_bit(++refused_)) return false;
  const CancelOff no_cancel;
  const int saved = errno;
  const int file = ::open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  struct stat status {};
  const bool same_device = file >= 0 && ::fstat(file, &status) == 0 && status.st_dev == device_ &&
                           status.st_ino == inode_;
  const bool grown = same_device && ::posix_fallocate(file, static_cast<off_t>(offset),
                                                      static_cast<off_t>(bytes)) == 0;
  if (file >= 0) ::close(file);
  errno = saved;
  if (grown) {
    refused_ = 0;
  } else if (refused_ == 0) {
    refused_ = 1;
  }
  return grown;
}

void NewFile::close() noexcept {
  if (!memory_) return;
  ::munmap(memory_, shape_.bytes);
  forget_pages(memory_);
  memory_ = nullptr;
}

void begin_header(FileHeader& header, const Shape& shape) noexcept {
  header.version = kVersion;
  header.section = static_cast<std::uint64_t>(shape.section);
  header.layout = shape.layout;
  header.file_bytes = shape.bytes;
  header.pid = static_cast<std::uint64_t>(::getpid());
  note_moment(header);
  header.first = header.last;
  header.first_unix_ns = clock_ns(CLOCK_REALTIME);
}

void note_moment(FileHeader& header) noexcept {
  store(header.last.ticks, now_ticks());
  store(header.last.monotonic_ns, clock_ns(CLOCK_MONOTONIC));
  store(header.last.boot_ns, clock_ns(CLOCK_BOOTTIME));
}

}  // namespace cuvmm::recorder
