// SPDX-License-Identifier: Apache-2.0
// The answers to calls while a stream captures, where the capture takes or forbids the call:
// copies, fills and allocations become nodes of its graph. capture_gate.h has the other copies and
// fills.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "emulator/core/emulator.h"

namespace cuvmm::emulator {

/// The answer to a call that a capture takes or forbids; nothing when the call is to be made as
/// usual.
std::optional<CUresult> captured_allocation(Emulator& e, CUdeviceptr* out, std::size_t size,
                                            const Pool& pool, CUstream stream);
std::optional<CUresult> captured_free(Emulator& e, CUdeviceptr address, CUstream stream);
/// `make` makes the node of the kernel; it is called only where the stream captures.
std::optional<CUresult> captured_launch(Emulator& e,
                                        const std::function<std::shared_ptr<GraphNode>()>& make,
                                        CUstream stream);
std::optional<CUresult> captured_event(Emulator& e, CUevent event, CUstream stream);

/// The work of a node that records an event, or that waits for one.
std::function<CUresult(Emulator&)> event_work(CUevent event, bool records);
/// The answer to a record or a wait with CU_EVENT_RECORD_EXTERNAL or CU_EVENT_WAIT_EXTERNAL on a
/// stream that captures: a node of the graph.
CUresult captured_external_event(Capture& capture, CUevent event, bool records, CUstream stream);

}  // namespace cuvmm::emulator
