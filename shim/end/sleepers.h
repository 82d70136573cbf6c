// SPDX-License-Identifier: Apache-2.0
// Which other threads do nothing when the process ends: they wait in pthread_join() or sleep(), or
// have called exit() too. What they made and did not use is not on its way to anything.
#pragma once

#include <cstdint>
#include <vector>

namespace cuvmm::shim {

/// In order. Looks again and again, for a tenth of a second at most: a thread that waits for a
/// processor, and not for somebody, is none of them, nor one that is in a call of the driver. Empty
/// where calls are not kept (shim/recorder/last_calls.h), or where the kernel does not tell.
/// Takes no lock.
std::vector<std::uint32_t> sleepers();

}  // namespace cuvmm::shim
