// SPDX-License-Identifier: Apache-2.0
// A descriptor that the emulator keeps open inside the program. Some programs close every
// descriptor that they do not know (closefrom, a daemon's loop); the number may then belong to
// another file.
#pragma once

#include <sys/types.h>

namespace cuvmm::emulator {

/// Owns a descriptor and remembers which file it named. When the number names another file by now,
/// or no file, the object neither uses nor closes it. Another thread may still close the number
/// between get() and its use; a program that closes descriptors that it did not open, while it
/// calls the driver, has to expect that.
class Descriptor {
 public:
  Descriptor() = default;
  /// Takes the descriptor over; -1: no descriptor.
  explicit Descriptor(int fd);
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();

  /// The number; -1 when the object has none, or when the number names another file by now. Makes
  /// one system call.
  int get() const;
  /// Whether the object was ever given a descriptor, which the program may have closed since.
  bool had() const { return fd_ >= 0; }

 private:
  void end();

  int fd_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace cuvmm::emulator
