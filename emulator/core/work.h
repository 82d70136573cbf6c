// SPDX-License-Identifier: Apache-2.0
// How an entry point gives work to a stream. With CUVMM_STREAMS=eager, which is the default, the
// work is done before submit() returns, unless it has to wait (queues.h).
#pragma once

#include <cuda.h>

#include <optional>

#include "emulator/objects/host_call.h"
#include "emulator/objects/queues.h"

namespace cuvmm::emulator {

/// The lane of a stream's handle for the calling thread: null is the legacy stream, or in a
/// function for per-thread default streams the thread's own stream. Nothing where the handle is no
/// stream, or is a default stream while no context is current.
std::optional<Lane> lane_of(Emulator& e, CUstream stream);

/// Gives work to a stream, and returns before the work is done. The fault of a context
/// that has one, and with late streams INVALID_HANDLE for a handle that is no stream. Eager: does
/// the work; where the work has to wait (NOT_READY) for the program, for another stream or for
/// another process, the rest of it is queued, and so is later work, until all of it is done. If the
/// work fails as work of a device does, the context is lost, and later calls answer the fault, as
/// with late streams and on a GPU; other errors of eager work are the answer here. The work
/// outlives the call: it owns all objects that it reads, and looks up again the objects that may
/// have ended. `last`: queued work comes after that work as well; submit() sets it to the new work.
CUresult submit(Emulator& e, CUstream stream, Work work, WorkId* last = nullptr);
/// As submit(), and waits until the work is done. The work never has to wait.
CUresult submit_and_wait(Emulator& e, CUstream stream, Work work);

/// Waits for all work of a stream, or of a context, and answers the context's fault if it has one.
CUresult wait_for(Emulator& e, const Lane& lane);
CUresult wait_for(Emulator& e, const Context& context);

/// Calls a function of the program from inside work, without the lock, on the thread of HostCall.
/// NOT_READY: the function did not return yet.
CUresult call_program(Emulator& e, HostCall& call);

/// Points to the number of the operation at which work of several operations resumes, where that
/// work is a part of other work; null elsewhere.
std::size_t*& resumed_operation();

/// Whether this thread is in a function whose name is for per-thread default streams.
bool& per_thread_default();

}  // namespace cuvmm::emulator
