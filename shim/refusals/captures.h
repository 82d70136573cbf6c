// SPDX-License-Identifier: Apache-2.0
// Calls that a stream capture forbids: the reason for the refusal, and a repair that works for it.
// Only some of these calls are permitted in another mode of the capture.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <optional>

#include "api/calls.h"
#include "rulebook/base/violation.h"
#include "shim/history/causes.h"
#include "shim/queued_work/questions.h"

namespace cuvmm::shim {

/// Whether a driver answers so because a stream captures.
bool forbidden_by_capture(CUresult result);
/// The stream that a call names; 0: none, or the default stream. A call of the per-thread ABI means
/// the thread's own default stream by 0.
std::uint64_t stream_of_call(const Call& call, bool per_thread);
inline std::uint64_t stream_number(CUstream handle, bool per_thread) {
  const auto number = reinterpret_cast<std::uintptr_t>(handle);
  return number == 0 && per_thread ? 2 : number;
}
/// Whether the stream captures, or has joined a capture. Asks the driver.
bool takes_part_in_capture(const Questions& ask, std::uint64_t stream);

/// The node that the stream's newest captured call made; null: the stream does not capture, or
/// waits for several nodes. Asks the driver.
CUgraphNode captured_node(const Questions& ask, std::uint64_t stream);

struct ForbiddenCall {
  EntryPoint entry = EntryPoint::kCount;  ///< kCount: the call asks for a property of the stream
  CUresult result = CUDA_SUCCESS;
  std::uint64_t stream = 0;
  bool takes_part = false;  ///< takes_part_in_capture() of the stream
  std::uint32_t thread = 0;
};
/// Why a capture forbade the call.
Violation forbidden(const Causes& causes, const ForbiddenCall& call);

/// The call that waits for an event which a capturing stream recorded last, or queries it; nothing
/// if its events are others.
std::optional<Violation> captured_event(const Causes& causes, const Call& call, CUresult result);

}  // namespace cuvmm::shim
