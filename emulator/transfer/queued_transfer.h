// SPDX-License-Identifier: Apache-2.0
// Copies and fills that wait for their turn on a stream (CUVMM_STREAMS=late).
#pragma once

#include <variant>

#include "emulator/core/emulator.h"
#include "emulator/transfer/transfer.h"
#include "rulebook/check/touch.h"

namespace cuvmm::emulator {

/// What a call asked for, which was right at that moment.
struct QueuedTransfer {
  EntryPoint entry{};
  Touch touched[kMaxTouches]{};
  std::size_t count = 0;
  Facts facts{};
  std::variant<Copy, Fill> what{};
};

/// Gives it to a stream. When its turn comes, it meets the machine as it is then: what was unmapped
/// meanwhile, freed, or taken from the device, is a fault. Pageable memory of the host is read
/// before the call returns. The call waits where rulebook/order/host_wait.h is sure of it, and
/// where it writes to pageable memory. `blocking`: it waits whatever it copies.
CUresult queue(Emulator& e, CUstream stream, const QueuedTransfer& transfer, bool blocking);

/// The fault of a fill whose memory is gone when its turn comes.
CUresult fill_fault(const Emulator& e);

}  // namespace cuvmm::emulator
