// SPDX-License-Identifier: Apache-2.0
#include "emulator/base/descriptor.h"

#include <sys/stat.h>

#include <utility>

#include "emulator/base/system.h"

namespace cuvmm::emulator {

Descriptor::Descriptor(int fd) : fd_(fd) {
  struct stat status {};
  if (fd_ < 0 || fstat(fd_, &status) != 0) return;
  device_ = status.st_dev;
  inode_ = status.st_ino;
}

Descriptor::Descriptor(Descriptor&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), device_(other.device_), inode_(other.inode_) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this == &other) return *this;
  end();
  fd_ = std::exchange(other.fd_, -1);
  device_ = other.device_;
  inode_ = other.inode_;
  return *this;
}

Descriptor::~Descriptor() { end(); }

int Descriptor::get() const {
  struct stat status {};
  if (fd_ < 0 || fstat(fd_, &status) != 0) return -1;
  return status.st_dev == device_ && status.st_ino == inode_ ? fd_ : -1;
}

void Descriptor::end() {
  const int fd = get();
  if (fd >= 0) sys_close(fd);
  fd_ = -1;
}

}  // namespace cuvmm::emulator
