// SPDX-License-Identifier: Apache-2.0
// How an entry point gives work to a stream. With CUVMM_STREAMS=eager, which is the default, it is
// done before submit() returns, and nothing is ever queued (queues.h).
#pragma once

#include <cuda.h>

#include <optional>

#include "emulator/objects/host_call.h"
#include "emulator/objects/queues.h"

namespace cuvmm::emulator {

/// The stream behind a handle, for the calling thread: null is the legacy stream, or under a name
/// for per-thread default streams the thread's own. Nothing where it is no stream, or a default one
/// and no context is current.
std::optional<Lane> lane_of(Emulator& e, CUstream stream);

/// Gives work to a stream, and returns before it is done. Eager: what the work answers; work that
/// waits for somebody (NOT_READY) holds up the caller, ten seconds at most, and then is TIMEOUT.
/// Late: INVALID_HANDLE for what is no stream, and the fault of a context that has one. The work
/// outlives the call: it owns all that it looks at, and looks up again what may have ended.
/// `last`: it comes after that work as well, and is then what that names.
CUresult submit(Emulator& e, CUstream stream, Work work, WorkId* last = nullptr);
/// As submit(), and waits until it is done.
CUresult submit_and_wait(Emulator& e, CUstream stream, Work work);

/// Waits for all work of a stream, or of a context, and answers its fault if it has one.
CUresult wait_for(Emulator& e, const Lane& lane);
CUresult wait_for(Emulator& e, const Context& context);

/// As submit(), for work that calls functions of the program and owns all that it looks at. Eager:
/// where such a function waits for the program, the rest is queued, as is what comes next, until
/// all of it is done.
CUresult submit_calls(Emulator& e, CUstream stream, Work work, WorkId* last = nullptr);

/// Calls a function of the program from inside work: without the lock, as nobody's work. NOT_READY:
/// it did not come back yet.
CUresult call_program(Emulator& e, HostCall& call);

/// Where work of several operations goes on, where it is a part of other work; null elsewhere.
std::size_t*& resumed_operation();

/// Whether this thread is in a function whose name is for per-thread default streams.
bool& per_thread_default();

}  // namespace cuvmm::emulator
