// SPDX-License-Identifier: Apache-2.0
// A descriptor that cuvmm keeps open inside the program. The program may close every descriptor,
// and then open files of its own under these numbers.
#pragma once

#include <sys/types.h>

namespace cuvmm::shim {

/// So the object knows the identity of its file. The destructor does not close the descriptor.
/// Async-signal-safe.
class PrivateDescriptor {
 public:
  constexpr PrivateDescriptor() = default;

  /// Moves `fd`, which must be open, to a number that programs do not get by themselves; exec
  /// closes it. If `fd` is -1, no descriptor is kept.
  void keep(int fd) noexcept;
  /// keep() for a file that stays open as `fd` too.
  void keep_copy(int fd) noexcept;
  /// The descriptor, or -1 if it is closed or another file has its number.
  int get() const noexcept { return is_same_file(fd_) ? fd_ : -1; }
  /// Whether `fd` is open and stands for the descriptor's file.
  bool is_same_file(int fd) const noexcept;
  /// Closes the descriptor if it still stands for its file.
  void close() noexcept;
  /// close(), but is_same_file() still knows the file.
  void close_but_remember() noexcept;

 private:
  void remember(int fd) noexcept;

  int fd_ = -1;
  bool known_ = false;  ///< whether the next two members identify a file
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace cuvmm::shim
