// SPDX-License-Identifier: Apache-2.0
// Copies and fills that wait for their turn on a stream (CUVMM_STREAMS=late).
#pragma once

#include <variant>

#include "emulator/core/emulator.h"
#include "emulator/transfer/transfer.h"
#include "rulebook/check/touch.h"

namespace cuvmm::emulator {

/// The transfer that a call requested, after the check of its arguments.
struct QueuedTransfer {
  EntryPoint entry{};
  Touch touched[kMaxTouches]{};
  std::size_t count = 0;
  Facts facts{};
  std::variant<Copy, Fill> what{};
};

/// Queues the transfer on a stream. In its turn it uses the machine as it is then: memory that was
/// unmapped or freed meanwhile, or to which the device lost access, causes a fault. Pageable memory
/// of the host is read before the call returns. The call waits where rulebook/order/host_wait.h
/// says for certain that it does, and where it writes to pageable memory. `blocking`: the call
/// waits in every case.
CUresult queue(Emulator& e, CUstream stream, const QueuedTransfer& transfer, bool blocking);

/// The fault of a fill whose memory no longer exists in its turn.
CUresult fill_fault(const Emulator& e);

}  // namespace cuvmm::emulator
