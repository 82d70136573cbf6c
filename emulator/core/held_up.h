// SPDX-License-Identifier: Apache-2.0
// Eager streams whose work has to wait: for a value that the program writes later, for a semaphore,
// or for a function of the program.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "emulator/objects/queues.h"

namespace cuvmm::emulator {

class Emulator;

/// Work was queued although streams are eager. Later work is queued behind it, and a thread of the
/// emulator does each piece as soon as it can be done: a program may read memory repeatedly,
/// without a call of the driver, until a stream has written it.
void hold_up(Emulator& e);

/// Names, for a message, who could still end these waits while `callers` threads of this process
/// wait in the driver: other threads, or other processes. "": nobody can.
std::string who_may_end(Emulator& e, const std::vector<Queues::Wait>& waits, std::size_t callers);

/// The message after a long wait, with the answer of who_may_end().
std::string after_long_wait(const std::string& who);

}  // namespace cuvmm::emulator
