// SPDX-License-Identifier: Apache-2.0
// A hostile driver, `left-contexts`: it acts as if another library had been called on this thread
// and had left its own context current.
#pragma once

namespace cuvmm::emulator {

class Emulator;

/// Called after a call that took memory: now and then makes another valid context current. That is
/// a device's primary context, where it is active and not the current one, or else a context that
/// only the emulator knows. Does nothing between a push and its pop, where no other library is
/// called. The caller holds the emulator's lock.
void maybe_leave_context(Emulator& e);

}  // namespace cuvmm::emulator
