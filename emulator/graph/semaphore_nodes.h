// SPDX-License-Identifier: Apache-2.0
// Nodes that signal external semaphores or wait for them.
#pragma once

#include <optional>

#include "api/calls.h"
#include "emulator/core/emulator.h"
#include "emulator/objects/graph.h"

namespace cuvmm::emulator {

CUresult make_semaphores(const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS& asked, GraphNode& out);
CUresult make_semaphores(const CUDA_EXT_SEM_WAIT_NODE_PARAMS& asked, GraphNode& out);

/// The answer to a call on a stream that captures, or that a capture forbids; nothing where the
/// call is to be made as usual.
std::optional<CUresult> captured_semaphores(Emulator& e,
                                            const calls::SignalExternalSemaphoresAsync& call);
std::optional<CUresult> captured_semaphores(Emulator& e,
                                            const calls::WaitExternalSemaphoresAsync& call);

}  // namespace cuvmm::emulator
