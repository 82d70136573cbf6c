// SPDX-License-Identifier: Apache-2.0
// A hostile driver, `left-contexts`: another library was called on this thread, and left its own
// context behind.
#pragma once

namespace cuvmm::emulator {

class Emulator;

/// After a call that took memory: now and then the thread's current context is another valid one.
/// That of a device's primary context, where that is active and not the current one, or else one
/// that only the emulator knows. Not between a push and its pop, where no other library has its
/// turn. The caller holds the emulator's lock.
void maybe_leave_context(Emulator& e);

}  // namespace cuvmm::emulator
