// SPDX-License-Identifier: Apache-2.0
// Single keys, as they are pressed at a terminal.
#pragma once

#include <termios.h>

namespace cuvmm::tools {

/// While it lives the terminal gives keys at once and does not show them. At a pipe, or in the
/// background, there are none. A signal that ends the program gives the terminal back first.
class Keys {
 public:
  Keys();
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;
  ~Keys();

  /// Whether there is somebody who could press one.
  bool on() const { return on_; }
  /// The key that is pressed within so many seconds; 0: none was.
  char wait(double seconds);

 private:
  bool on_ = false;
  termios before_{};
};

}  // namespace cuvmm::tools
