// SPDX-License-Identifier: Apache-2.0
// Work, what orders it, and what waits for it.
#include <algorithm>

#include "fuzz/flight/reference.h"

namespace cuvmm::fuzz::flight {

namespace {

template <class T>
std::uint64_t value_of(T* handle) {
  return reinterpret_cast<std::uintptr_t>(handle);
}

}  // namespace

bool is_flight(Rule rule) {
  constexpr Rule kThose[] = {
      Rule::kUnmapInFlight,      Rule::kUnmapOrdered,      Rule::kAccessInFlight,
      Rule::kAccessOrdered,      Rule::kIpcCloseInFlight,  Rule::kIpcCloseOrdered,
      Rule::kExtDestroyInFlight, Rule::kExtDestroyOrdered, Rule::kMemFreeAsyncOrdered,
      Rule::kDataPoolOrdered,    Rule::kLaunchMapped,      Rule::kLaunchAlive,
      Rule::kLaunchAccess};
  return std::find(std::begin(kThose), std::end(kThose), rule) != std::end(kThose);
}

// --- Work

void Reference::find_early(Opinion& out, int stream, int thread, const Bytes& bytes) const {
  for (const Memory& each : memory_) {
    if (!each.live || each.allocation < 0 || !each.bytes.holds(bytes)) continue;
    const History::Piece& piece = history_.piece(each.allocation);
    if (piece.known || history_.before_next(each.allocation, stream)) continue;
    out.early.push_back(each.allocation);
    out.lost |= beyond_reach(history_.stream(piece.stream), thread) && !piece.over;
  }
}

Opinion Reference::work(std::uint64_t handle, int thread, const std::vector<Bytes>& uses) {
  const int stream = history_.find(handle, thread);
  Opinion out;
  out.made = stream >= 0 && std::all_of(uses.begin(), uses.end(), [&](const Bytes& bytes) {
               return bytes.size != 0 && usable(bytes);
             });
  // A default stream must not be touched while another one captures.
  constexpr std::uint64_t kLastDefault = 2;
  if (capturing() && handle <= kLastDefault) out.made = false;
  if (!out.made || stream == capture_) return out;
  for (const Bytes& bytes : uses) find_early(out, stream, thread, bytes);
  return out;
}

void Reference::queue(std::uint64_t handle, int thread, const std::vector<Bytes>& uses) {
  const int stream = history_.find(handle, thread);
  if (stream == capture_) {
    captured_.insert(captured_.end(), uses.begin(), uses.end());
  } else {
    history_.add(stream, uses);
  }
}

Opinion Reference::judge(const calls::MemsetD8& made, int thread) {
  Opinion out = work(0, thread, {{made.dstDevice, made.N}});
  return out;
}
void Reference::accept(const calls::MemsetD8& made, int thread) {
  queue(0, thread, {{made.dstDevice, made.N}});
}
Opinion Reference::judge(const calls::MemsetD8Async& made, int thread) {
  return work(value_of(made.hStream), thread, {{made.dstDevice, made.N}});
}
void Reference::accept(const calls::MemsetD8Async& made, int thread) {
  queue(value_of(made.hStream), thread, {{made.dstDevice, made.N}});
}
Opinion Reference::judge(const calls::MemcpyDtoD& made, int thread) {
  return work(0, thread, {{made.dstDevice, made.ByteCount}, {made.srcDevice, made.ByteCount}});
}
void Reference::accept(const calls::MemcpyDtoD& made, int thread) {
  queue(0, thread, {{made.dstDevice, made.ByteCount}, {made.srcDevice, made.ByteCount}});
}
Opinion Reference::judge(const calls::MemcpyDtoDAsync& made, int thread) {
  return work(value_of(made.hStream), thread,
              {{made.dstDevice, made.ByteCount}, {made.srcDevice, made.ByteCount}});
}
void Reference::accept(const calls::MemcpyDtoDAsync& made, int thread) {
  queue(value_of(made.hStream), thread,
        {{made.dstDevice, made.ByteCount}, {made.srcDevice, made.ByteCount}});
}
Opinion Reference::judge(const calls::MemcpyDtoH& made, int thread) {
  return work(0, thread, {{made.srcDevice, made.ByteCount}});
}
void Reference::accept(const calls::MemcpyDtoH& made, int thread) {
  queue(0, thread, {{made.srcDevice, made.ByteCount}});
  history_.learn(history_.awaited(history_.find(0, thread)));
}

// --- Streams and events

Opinion Reference::wait(const std::vector<Node>& nodes) const {
  Opinion out = plain(true);
  out.may_wait = std::any_of(nodes.begin(), nodes.end(),
                             [&](Node node) { return node >= 0 && !history_.piece(node).known; });
  return out;
}

Opinion Reference::judge(const calls::StreamCreate& made, int) { return plain(made.Flags <= 1); }
void Reference::accept(const calls::StreamCreate& made, int) {
  history_.open(value_of(*made.phStream),
                made.Flags ? History::Kind::kNonBlocking : History::Kind::kBlocking);
}
Opinion Reference::judge(const calls::StreamDestroy& made, int thread) {
  constexpr std::uint64_t kLastDefault = 2;
  const std::uint64_t handle = value_of(made.hStream);
  return plain(handle > kLastDefault && history_.find(handle, thread) >= 0);
}
void Reference::accept(const calls::StreamDestroy& made, int thread) {
  history_.stream(history_.find(value_of(made.hStream), thread)).live = false;
}
Opinion Reference::judge(const calls::StreamSynchronize& made, int thread) {
  return plain(history_.find(value_of(made.hStream), thread) >= 0);
}
void Reference::accept(const calls::StreamSynchronize& made, int thread) {
  history_.learn(history_.awaited(history_.find(value_of(made.hStream), thread)));
}
Opinion Reference::judge(const calls::StreamQuery& made, int thread) {
  const int stream = history_.find(value_of(made.hStream), thread);
  return stream < 0 ? plain(false) : wait(history_.awaited(stream));
}
void Reference::accept(const calls::StreamQuery& made, int thread) {
  history_.learn(history_.awaited(history_.find(value_of(made.hStream), thread)));
}
Opinion Reference::judge(const calls::StreamWaitEvent& made, int thread) {
  const bool known = alive(events_, value_of(made.hEvent)) != nullptr;
  return plain(known && history_.find(value_of(made.hStream), thread) >= 0 && made.Flags == 0);
}
void Reference::accept(const calls::StreamWaitEvent& made, int thread) {
  const Node node = alive(events_, value_of(made.hEvent))->node;
  history_.mark(history_.find(value_of(made.hStream), thread), node);
}

Opinion Reference::judge(const calls::EventCreate& made, int) { return plain(made.Flags <= 3); }
void Reference::accept(const calls::EventCreate& made, int) {
  events_.push_back({value_of(*made.phEvent)});
}
Opinion Reference::judge(const calls::EventDestroy& made, int) {
  return plain(alive(events_, value_of(made.hEvent)) != nullptr);
}
void Reference::accept(const calls::EventDestroy& made, int) {
  alive(events_, value_of(made.hEvent))->live = false;
}
Opinion Reference::judge(const calls::EventRecord& made, int thread) {
  const bool known = alive(events_, value_of(made.hEvent)) != nullptr;
  return plain(known && history_.find(value_of(made.hStream), thread) >= 0);
}
void Reference::accept(const calls::EventRecord& made, int thread) {
  const int stream = history_.find(value_of(made.hStream), thread);
  alive(events_, value_of(made.hEvent))->node = history_.record(stream);
}
Opinion Reference::judge(const calls::EventSynchronize& made, int) {
  return plain(alive(events_, value_of(made.hEvent)) != nullptr);
}
void Reference::accept(const calls::EventSynchronize& made, int) {
  history_.learn({alive(events_, value_of(made.hEvent))->node});
}
Opinion Reference::judge(const calls::EventQuery& made, int) {
  const Event* event = alive(events_, value_of(made.hEvent));
  return event ? wait({event->node}) : plain(false);
}
void Reference::accept(const calls::EventQuery& made, int) {
  history_.learn({alive(events_, value_of(made.hEvent))->node});
}
Opinion Reference::judge(const calls::CtxSynchronize&, int) { return plain(true); }
void Reference::accept(const calls::CtxSynchronize&, int) { history_.learn(history_.everything()); }

// --- Graphs

Opinion Reference::judge(const calls::StreamBeginCapture& made, int thread) {
  constexpr std::uint64_t kLastDefault = 2;
  const std::uint64_t handle = value_of(made.hStream);
  return plain(handle > kLastDefault && history_.find(handle, thread) >= 0 &&
               made.mode == CU_STREAM_CAPTURE_MODE_RELAXED);
}
void Reference::accept(const calls::StreamBeginCapture& made, int thread) {
  capture_ = history_.find(value_of(made.hStream), thread);
  captured_.clear();
}
Opinion Reference::judge(const calls::StreamEndCapture& made, int thread) {
  Opinion out;
  out.made = capturing() && history_.find(value_of(made.hStream), thread) == capture_;
  return out;
}
void Reference::accept(const calls::StreamEndCapture& made, int) {
  graphs_.push_back({value_of(*made.phGraph), captured_});
  capture_ = -1;
}
Opinion Reference::judge(const calls::GraphInstantiateWithFlags& made, int) {
  return plain(alive(graphs_, value_of(made.hGraph)) && made.flags == 0);
}
void Reference::accept(const calls::GraphInstantiateWithFlags& made, int) {
  executables_.push_back(
      {value_of(*made.phGraphExec), alive(graphs_, value_of(made.hGraph))->uses});
}
// Of a reservation, whether something is mapped; of a pool's memory, that it was freed. Behind the
// end of other memory nothing is said: an address there may stand for that end.
bool Reference::seen_to_be_gone(const Bytes& bytes) const {
  const Memory* newest = nullptr;
  bool behind = false, reserved = false;
  for (const Memory& each : memory_) {
    if (each.bytes.holds(bytes)) newest = &each;
    // A buffer outlives its external memory.
    const bool there = each.live || each.kind == Memory::Kind::kBuffer;
    behind |= there && each.bytes.base + each.bytes.size == bytes.base;
  }
  for (const Object& range : ranges_) {
    reserved |= range.live && Bytes{range.value, range.size}.holds(bytes);
  }
  if (!newest) return false;
  if (newest->kind == Memory::Kind::kMapped) {
    return newest->live ? !newest->readable : reserved && !behind;
  }
  return newest->kind == Memory::Kind::kPool && !reserved && !behind;
}

Opinion Reference::judge(const calls::GraphLaunch& made, int thread) {
  const Graph* graph = alive(executables_, value_of(made.hGraphExec));
  const int stream = history_.find(value_of(made.hStream), thread);
  Opinion out = plain(graph && stream >= 0);
  if (!out.made) return out;
  for (const Bytes& bytes : graph->uses) {
    if (usable(bytes)) {
      find_early(out, stream, thread, bytes);
    } else {
      out.vain = true;
      out.surely_vain |= seen_to_be_gone(bytes);
    }
  }
  return out;
}
void Reference::accept(const calls::GraphLaunch& made, int thread) {
  history_.add(history_.find(value_of(made.hStream), thread),
               alive(executables_, value_of(made.hGraphExec))->uses);
}
Opinion Reference::judge(const calls::GraphExecDestroy& made, int) {
  return plain(alive(executables_, value_of(made.hGraphExec)) != nullptr);
}
void Reference::accept(const calls::GraphExecDestroy& made, int) {
  alive(executables_, value_of(made.hGraphExec))->live = false;
}

}  // namespace cuvmm::fuzz::flight
