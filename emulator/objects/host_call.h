// SPDX-License-Identifier: Apache-2.0
// Functions of the program that work calls: host functions, callbacks, host nodes of graphs.
#pragma once

#include <functional>
#include <memory>

namespace cuvmm::emulator {

/// One call of such a function, on a thread that the driver has for all of them: they are called in
/// the order in which they begin, one at a time. So one that waits for the program holds up its
/// stream, and not the driver's caller.
class HostCall {
 public:
  struct State;

  explicit HostCall(std::function<void()> function);

  /// Begins it, or looks again. Whether it came back; most do while this waits, for a second at
  /// most, and once one did not, much less. Without the emulator's lock.
  bool go_on();
  bool came_back() const;

  /// Whether one that began did not come back yet.
  static bool any_away();
  /// Whether the calling thread is the one that calls them.
  static bool& on_its_thread();

 private:
  std::shared_ptr<State> state_;
};

}  // namespace cuvmm::emulator
