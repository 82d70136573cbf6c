// SPDX-License-Identifier: Apache-2.0
// What a call answers while a stream captures, where the capture takes or forbids it: copies, fills
// and allocations become nodes of its graph. capture_gate.h has the rest of the copies and fills.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "emulator/core/emulator.h"

namespace cuvmm::emulator {

/// refuse_unsafe() for entry points that take the lock themselves.
CUresult refuse_unsafe_in_capture() noexcept;

/// What a call answers that a capture takes or forbids; nothing when it is to be made as ever.
std::optional<CUresult> captured_allocation(Emulator& e, CUdeviceptr* out, std::size_t size,
                                            const Pool& pool, CUstream stream);
std::optional<CUresult> captured_free(Emulator& e, CUdeviceptr address, CUstream stream);
/// `make`: the node of the kernel, asked for only where the stream captures.
std::optional<CUresult> captured_launch(Emulator& e,
                                        const std::function<std::shared_ptr<GraphNode>()>& make,
                                        CUstream stream);
std::optional<CUresult> captured_event(Emulator& e, CUevent event, CUstream stream);

}  // namespace cuvmm::emulator
