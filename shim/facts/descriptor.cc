// SPDX-License-Identifier: Apache-2.0
#include "shim/facts/descriptor.h"

#include <sys/stat.h>
#include <unistd.h>

namespace cuvmm::shim {

DescriptorIdentity identify_descriptor(int fd) {
  DescriptorIdentity identity;
  struct stat file;
  if (::fstat(fd, &file) != 0) return identity;
  identity.device = file.st_dev;
  identity.inode = file.st_ino;
  char target[4096];
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t length = ::readlink(path.c_str(), target, sizeof target);
  if (length > 0) identity.link.assign(target, static_cast<std::size_t>(length));
  return identity;
}

std::string memory_name(int fd) {
  struct stat file;
  if (::fstat(fd, &file) != 0 || !S_ISREG(file.st_mode)) return {};
  return std::to_string(file.st_dev) + ":" + std::to_string(file.st_ino);
}

}  // namespace cuvmm::shim
