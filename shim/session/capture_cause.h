// SPDX-License-Identifier: Apache-2.0
// The session's part for stream captures: follows them, and explains the calls that they forbid.
// `stream` is 2 where a call means the thread's own default stream by 0.
#pragma once

#include "shim/refusals/captures.h"
#include "shim/session/session.h"

namespace cuvmm::shim {

struct CaptureCause {
  static void begin(Session& session, std::uint64_t stream, CUstreamCaptureMode mode,
                    const Caller& caller);
  static void end(Session& session, std::uint64_t stream, CUresult result);
  /// Why a capture forbade a call. Takes the session's lock.
  static Violation forbidden_here(Session& session, EntryPoint entry, CUresult result,
                                  std::uint64_t stream);
  static void report(Session& session, const Call& call, std::uint64_t stream, CUresult result,
                     const Caller& caller) noexcept;
  /// report() for a function that cuvmm does not check, and that names the stream.
  static void report(Session& session, const char* function, CUstream stream, CUresult result,
                     const Caller& caller) noexcept;

  /// The stream recorded the event: notes whether it did so in a capture. 0: the event was not
  /// recorded in a capture, or has ended.
  static void note_record(Session& session, CUevent event, std::uint64_t stream,
                          const Caller& caller);
  /// Reports the refused call if it names an event that a capturing stream recorded last.
  static void explain_event(Session& session, const Call& call, CUresult result,
                            const Caller& caller);

  /// A call on the stream succeeded while captures go on: notes the node that it made. `by` gets
  /// the call's number if it has none.
  static void note_call(Session& session, std::uint64_t stream, Origin& by,
                        const Caller& caller) noexcept;
  /// Nodes of graphs have ended (Causes::forget_captured_calls()).
  static void forget_calls(Session& session) noexcept;
};

}  // namespace cuvmm::shim
