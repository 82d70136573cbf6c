// SPDX-License-Identifier: Apache-2.0
// The other threads that do nothing when the process ends: they wait in pthread_join() or sleep(),
// or have called exit() too. Such a thread will not use the objects that it made and has not used
// yet.
#pragma once

#include <cstdint>
#include <vector>

namespace cuvmm::shim {

/// The result is in ascending order. Looks several times, for a tenth of a second at most: a thread
/// that waits for a processor is no sleeper, nor is a thread inside of a driver's call. Empty if
/// the last calls are not recorded (shim/recorder/last_calls.h), or if the kernel does not give the
/// state of threads. Takes no lock.
std::vector<std::uint32_t> sleepers();

}  // namespace cuvmm::shim
