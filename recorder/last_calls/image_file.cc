// SPDX-License-Identifier: Apache-2.0
#include "recorder/last_calls/image_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "api/posix/lost_pages.h"
#include "api/posix/process_start.h"

namespace cuvmm::last_calls {

namespace {

// Larger files would raise SIGXFSZ.
bool file_size_allowed() noexcept {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur >= sizeof(Image);
}

Image* as_image(void* memory) noexcept {
  return memory == MAP_FAILED ? nullptr : static_cast<Image*>(memory);
}

}  // namespace

Image* map_new_file(const std::string& path) noexcept {
  if (!file_size_allowed()) {
    errno = EFBIG;
    return nullptr;
  }
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return nullptr;
  int error = ::posix_fallocate(fd, 0, sizeof(Image));
  Image* image = nullptr;
  if (error == 0) {
    image = as_image(::mmap(nullptr, sizeof(Image), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    if (!image) error = errno;
    if (image) guard_pages(image, sizeof(Image));
  }
  if (!image) ::unlink(path.c_str());
  ::close(fd);
  errno = error;
  return image;
}

void unmap(Image* image) noexcept {
  if (!image) return;
  ::munmap(image, sizeof(Image));
  forget_pages(image);
}

void describe_process(Header& header, const std::string& driver) noexcept {
  header.start = process_start("self");
  const RunId run = run_of_this_process();
  header.run_pid = run.pid;
  header.run_start = run.start;
  const ssize_t length = ::readlink("/proc/self/exe", header.program, sizeof header.program);
  if (length < 0) header.program[0] = '\0';
  std::copy_n(driver.data(), std::min(driver.size(), sizeof header.driver), header.driver);
}

}  // namespace cuvmm::last_calls
