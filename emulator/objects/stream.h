// SPDX-License-Identifier: Apache-2.0
// Streams and events. queues.h has the work that they still have to do.
#pragma once

#include <cuda.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "emulator/machine/physical.h"
#include "emulator/objects/context.h"
#include "emulator/objects/queues.h"
#include "rulebook/states/ipc_state.h"

namespace cuvmm::emulator {

/// A driver clamps a priority that is out of range, as documented: 0 is the least urgent, -5 the
/// most.
inline int clamped_priority(int priority) {
  return priority > 0 ? 0 : priority < -5 ? -5 : priority;
}

struct Stream {
  Context* context = nullptr;
  unsigned flags = 0;
  int priority = 0;
  std::uint64_t id = 0;
  Context* green = nullptr;  ///< the green context that it ends with
};

struct Event {
  Context* context = nullptr;
  unsigned flags = 0;
  bool recorded = false;
  WorkId work = 0;  ///< the work that the last record queued
  std::chrono::steady_clock::time_point at;
  /// The bytes by which other processes find the event, and the file that contains them; null until
  /// a program asks for a handle.
  IpcBytes ticket{};
  std::shared_ptr<Physical> file;
};

/// The live streams and events of the process, keyed by handle; values are never handed out twice.
class Streams {
 public:
  CUstream create_stream(Context* context, unsigned flags, int priority, Context* green = nullptr);
  CUevent create_event(Context* context, unsigned flags);
  /// The identity of a default stream; each thread's own has one from its first use on.
  std::uint64_t id_of_default(CUstream stream);
  bool destroy(CUstream stream) { return streams_.erase(stream) != 0; }
  bool destroy(CUevent event) { return events_.erase(event) != 0; }
  /// Ends the streams and events of a context.
  void end_those_of(const Context& context);
  /// Ends the streams of a green context. The work that they have goes on.
  void end_green(const Context& green);
  /// The streams that were made in a context.
  std::vector<CUstream> of(const Context& context) const;
  const Stream* find(CUstream stream) const;
  /// The answer to a handle that find() does not find: CONTEXT_IS_DESTROYED where the stream ended
  /// with its context (an H200) or its green context (an H100), else INVALID_HANDLE.
  CUresult no_stream(CUstream handle) const;
  Event* find(CUevent event);
  /// The answer to a handle that find() does not find: CONTEXT_IS_DESTROYED where the event ended
  /// with its context (an H100), else INVALID_HANDLE.
  CUresult no_event(CUevent handle) const;
  /// Whether the handle names a default stream: 0, CU_STREAM_LEGACY or CU_STREAM_PER_THREAD.
  static bool is_default(CUstream stream) { return reinterpret_cast<std::uintptr_t>(stream) <= 2; }

 private:
  std::unordered_map<CUstream, Stream> streams_;
  std::unordered_map<CUevent, Event> events_;
  std::unordered_set<CUstream> ended_streams_;  ///< the streams that ended with their contexts
  std::unordered_set<CUevent> ended_events_;    ///< the events that ended with their contexts
  std::uintptr_t next_ = 0x10;
  std::uint64_t last_id_ = 12;  ///< of streams that the driver makes for itself (recorded)
};

}  // namespace cuvmm::emulator
