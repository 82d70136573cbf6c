// SPDX-License-Identifier: Apache-2.0
// Identifies the file of a descriptor, so that a number that is used again is not mistaken for it.
#pragma once

#include <string>

namespace cuvmm::shim {

struct DescriptorIdentity {
  unsigned long device = 0;
  unsigned long inode = 0;
  std::string link;  ///< the link in /proc/self/fd, because anonymous inodes share one number

  bool operator==(const DescriptorIdentity&) const = default;
};

/// All empty when `fd` is not open.
DescriptorIdentity identify_descriptor(int fd);

/// A name for the file behind `fd`, equal in every process of this machine; "" if it has none,
/// because device files of a driver share one inode.
std::string memory_name(int fd);

}  // namespace cuvmm::shim
