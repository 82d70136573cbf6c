// SPDX-License-Identifier: Apache-2.0
// Reads single keys that a person presses at a terminal.
#pragma once

#include <termios.h>

namespace cuvmm::tools {

/// While a Keys lives, the terminal passes each key on at once and does not print it. With a pipe,
/// or in the background, there are no keys. A signal that ends the program restores the terminal
/// first.
class Keys {
 public:
  Keys();
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;
  ~Keys();

  /// Whether a person could press a key.
  bool on() const { return on_; }
  /// The key that is pressed within `seconds`; 0: none.
  char wait(double seconds);

 private:
  bool on_ = false;
  termios before_{};
};

}  // namespace cuvmm::tools
