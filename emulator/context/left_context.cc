// SPDX-License-Identifier: Apache-2.0
#include "emulator/context/left_context.h"

#include <vector>

#include "emulator/core/emulator.h"
#include "emulator/hostile/hostile_driver.h"

namespace cuvmm::emulator {

namespace {

// A context that another library is supposed to have made on a device. A program that reads the
// current context can destroy it.
Context& context_of_nobody(Emulator& e, int device) {
  static std::vector<Context*> made;
  made.resize(static_cast<std::size_t>(e.device_count()));
  Context*& one = made[static_cast<std::size_t>(device)];
  if (!one || !one->alive) one = &e.contexts.create(device, 0);
  return *one;
}

}  // namespace

void maybe_leave_context(Emulator& e) {
  ContextStack& stack = ContextStack::of_this_thread();
  if (stack.awaits_pop() || !hostile_driver().leaves_context()) return;
  const int device =
      static_cast<int>(hostile_driver().draw() % static_cast<std::uint64_t>(e.device_count()));
  Context& primary = e.contexts.primary(device);
  const bool usable = primary.alive && stack.current() != &primary;
  stack.set(usable ? &primary : &context_of_nobody(e, device));
}

}  // namespace cuvmm::emulator
