// SPDX-License-Identifier: Apache-2.0
// What a file descriptor refers to, so that a number used again is not mistaken for it.
#pragma once

#include <string>

namespace cuvmm::shim {

struct DescriptorIdentity {
  unsigned long device = 0;
  unsigned long inode = 0;
  std::string link;  ///< /proc/self/fd's; anonymous inodes share one number

  bool operator==(const DescriptorIdentity&) const = default;
};

/// All empty when `fd` is not open.
DescriptorIdentity identify_descriptor(int fd);

/// A name for the file behind `fd` that is the same in every process of this machine, "" where
/// there is none: device files of a driver share one inode.
std::string memory_name(int fd);

}  // namespace cuvmm::shim
