// SPDX-License-Identifier: Apache-2.0
// A descriptor that cuvmm keeps open inside the program. The program may close every descriptor,
// and then open files of its own under the same numbers.
#pragma once

#include <sys/types.h>

namespace cuvmm::shim {

/// Knows what file it is for. Never closed by itself. Async-signal-safe.
class KeptDescriptor {
 public:
  constexpr KeptDescriptor() = default;

  /// Moves `fd`, which must be open, to a number that programs do not get by themselves, closed by
  /// exec. Keeps nothing where `fd` is -1.
  void keep(int fd) noexcept;
  /// The same for a file that stays open as `fd` too.
  void keep_copy(int fd) noexcept;
  /// The descriptor, or -1 when it is closed or has become another file's.
  int get() const noexcept { return is_same_file(fd_) ? fd_ : -1; }
  /// Whether `fd` is open and the file that is kept.
  bool is_same_file(int fd) const noexcept;
  /// Closes it where it is still ours.
  void close() noexcept;
  /// The same, but is_same_file() still knows the file.
  void close_but_remember() noexcept;

 private:
  void remember(int fd) noexcept;

  int fd_ = -1;
  bool known_ = false;  ///< what follows is some file
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace cuvmm::shim
