// SPDX-License-Identifier: Apache-2.0
// Functions of the program that work calls: host functions, callbacks, host nodes of graphs.
#pragma once

#include <functional>
#include <memory>

namespace cuvmm::emulator {

/// One call of such a function, on the thread that the driver has for all of them: that thread
/// calls them in the order in which they begin, one at a time. So a function that waits for the
/// program stops its stream, and not the caller of the driver.
class HostCall {
 public:
  struct State;

  /// `identity`: the program's function, which `function` calls.
  HostCall(const void* identity, std::function<void()> function);

  /// Begins the call, or looks again. Answers whether the function returned. The first time it
  /// waits for that: until the function has slept or computed for a second, and for much less once
  /// this function did so (emulator/objects/patience.h). Called without the emulator's lock.
  bool go_on();
  bool came_back() const;

  /// Whether any function that began did not return yet.
  static bool any_away();
  /// Whether the thread that calls these functions exists.
  static bool has_thread();
  /// Whether the calling thread is the one that calls these functions.
  static bool& on_its_thread();

 private:
  std::shared_ptr<State> state_;
};

}  // namespace cuvmm::emulator
