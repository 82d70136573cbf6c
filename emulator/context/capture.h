// SPDX-License-Identifier: Apache-2.0
// Stream capture and the graphs that it makes, as far as memory goes: which calls a capture allows,
// and copies, fills, host functions and allocations as nodes.
#pragma once

#include <cuda.h>

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "emulator/base/emulator.h"
#include "emulator/graph/graph.h"

namespace cuvmm::emulator {

/// One capture in progress.
struct Capture {
  CUstream origin = nullptr;  ///< a key, as are all streams here: Captures::key()
  const Context* context = nullptr;
  CUstreamCaptureMode mode{};
  std::thread::id thread;
  bool invalid = false;
  GraphNodes nodes;
  std::set<CUstream> unjoined;        ///< streams with work that the origin does not wait for
  std::map<Address, Size> allocated;  ///< memory of its nodes that they do not free
  /// What the next node of a stream depends on.
  std::map<CUstream, std::vector<GraphNode*>> ends;

  /// Takes work of a stream that is in this capture; it depends on what the stream has to wait for.
  void add(std::shared_ptr<GraphNode> node, CUstream stream);
  /// Whether memory is there at launches only.
  bool allocates(Address address) const {
    const auto after = allocated.upper_bound(address);
    return after != allocated.begin() &&
           address - std::prev(after)->first < std::prev(after)->second;
  }
};

/// All captures of the process; the caller holds the emulator's lock, but for any().
class Captures {
 public:
  static Captures& get();
  /// Whether a stream may be capturing: a cheap look, without the lock.
  static bool any() { return count_.load(std::memory_order_relaxed) != 0; }
  /// Names a stream in one capture or another: each thread has its own CU_STREAM_PER_THREAD.
  static CUstream key(CUstream stream);

  /// The capture of a stream; null when it has none.
  Capture* of(CUstream stream) const;
  void begin(const Emulator& e, CUstream stream, CUstreamCaptureMode mode);
  /// Ends a capture; null takes none. The last mention of it: what it captured goes with it.
  std::shared_ptr<Capture> end(const Capture* capture);
  /// A stream is destroyed: a capture that began on it ends, one that it joined is of no use.
  void forget(CUstream stream);
  void end_those_of(const Context& context);

  void recorded(CUevent event, CUstream stream);

  /// These answer SUCCESS where no capture forbids the call, and else what a driver does; that
  /// makes the captures invalid. For calls that may depend on captured work without saying so:
  CUresult refuse_unsafe();
  /// For work on the legacy stream, which waits for blocking streams.
  CUresult refuse_legacy(const Emulator& e, bool invalidate = true);
  /// For calls that wait for all work of the context.
  CUresult refuse_all();

  /// For a question about an event, which a captured one never answers.
  CUresult refuse_event(CUevent event);
  /// For a question about a stream, and for waiting for it.
  CUresult refuse_stream(const Emulator& e, CUstream stream);
  /// For a stream that is to wait for an event: joins it to the event's capture.
  CUresult wait(const Emulator& e, CUstream stream, CUevent event);

  static CUstreamCaptureMode& thread_mode();

 private:
  struct Member {
    std::shared_ptr<Capture> capture;
    bool blocking = false;  ///< the legacy stream waits for it
  };
  Capture* at(CUstream key) const;
  void add(const Emulator& e, CUstream stream, std::shared_ptr<Capture> capture);
  /// What a captured event stands for.
  struct Recorded {
    CUstream stream = nullptr;
    std::vector<GraphNode*> ends;
  };
  /// The key of the stream whose work a captured event stands for; null for any other event.
  CUstream stream_of(CUevent event) const;

  std::map<CUstream, Member> streams_;  // by key
  std::map<CUevent, Recorded> events_;
  inline static constinit std::atomic<std::size_t> count_{0};
};

/// refuse_unsafe() for entry points that take the lock themselves.
CUresult refuse_unsafe_in_capture() noexcept;

/// What a call answers that a capture takes or forbids; nothing when it is to be made as ever.
std::optional<CUresult> captured_allocation(Emulator& e, CUdeviceptr* out, std::size_t size,
                                            const Pool& pool, CUstream stream);
std::optional<CUresult> captured_free(Emulator& e, CUdeviceptr address, CUstream stream);
/// `entry` names the launch's function, and outlives the process.
std::optional<CUresult> captured_launch(Emulator& e, const char* entry, CUstream stream);
std::optional<CUresult> captured_event(CUevent event, CUstream stream);

}  // namespace cuvmm::emulator
