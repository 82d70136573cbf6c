// SPDX-License-Identifier: Apache-2.0
// A descriptor that the emulator keeps open inside the program. Some programs close every
// descriptor that they do not know (closefrom, a daemon's loop); the number may then belong to
// another file.
#pragma once

#include <sys/types.h>

namespace cuvmm::emulator {

/// Owns a descriptor and knows which file it was. Once the number means another file, or none, it
/// is left alone: never used, never closed. Between a look and the use another thread may still
/// close it; a program that closes what it does not know while it calls the driver has to expect
/// that.
class Descriptor {
 public:
  Descriptor() = default;
  /// Takes the descriptor over; -1 is none.
  explicit Descriptor(int fd);
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();

  /// The number, -1 when there is none or it is another file's by now. One system call.
  int get() const;
  /// Whether it was ever given one: it may be lost since.
  bool had() const { return fd_ >= 0; }

 private:
  void end();

  int fd_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace cuvmm::emulator
