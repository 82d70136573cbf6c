// SPDX-License-Identifier: Apache-2.0
// Work, its order, and the calls that wait for it.
#include <algorithm>

#include "fuzz/flight/reference.h"

namespace cuvmm::fuzz::flight {

bool is_flight(Rule rule) {
  constexpr Rule kThose[] = {
      Rule::kUnmapInFlight,      Rule::kUnmapOrdered,      Rule::kAccessInFlight,
      Rule::kAccessOrdered,      Rule::kIpcCloseInFlight,  Rule::kIpcCloseOrdered,
      Rule::kExtDestroyInFlight, Rule::kExtDestroyOrdered, Rule::kMemFreeAsyncOrdered,
      Rule::kMemFreeInFlight,    Rule::kMemFreeOrdered,    Rule::kDataPoolOrdered,
      Rule::kLaunchMapped,       Rule::kLaunchAlive,       Rule::kLaunchAccess};
  return std::find(std::begin(kThose), std::end(kThose), rule) != std::end(kThose);
}

// --- Work

void Reference::find_early(Opinion& out, int stream, int thread, const Bytes& bytes,
                           Node also) const {
  for (const Memory& each : memory_) {
    if (!each.live || each.allocation < 0 || !each.bytes.holds(bytes)) continue;
    const History::Piece& piece = history_.piece(each.allocation);
    if (piece.known || history_.before_next(each.allocation, stream)) continue;
    if (also >= 0 && history_.leads_to(each.allocation, also)) continue;
    out.early.push_back(each.allocation);
    out.lost |= beyond_reach(history_.stream(piece.stream), thread) && !piece.over;
  }
}

Opinion Reference::work(std::uint64_t handle, int thread, const std::vector<Bytes>& all) {
  const int stream = history_.find(handle, thread);
  Opinion out;
  out.made = stream >= 0 && std::all_of(all.begin(), all.end(), [&](const Bytes& bytes) {
               return bytes.size != 0 && usable(bytes);
             });
  // A program must not touch a default stream while another stream captures.
  constexpr std::uint64_t kLastDefault = 2;
  if (capturing() && handle <= kLastDefault) out.made = false;
  if (!out.made || stream == capture_) return out;
  for (const Bytes& bytes : all) find_early(out, stream, thread, bytes);
  return out;
}

Opinion Reference::telling(std::uint64_t handle, int thread, const Bytes& bytes) {
  Opinion out = work(handle, thread, {bytes});
  out.made &= !capturing();
  return out;
}

Node Reference::queue(std::uint64_t handle, int thread, const std::vector<Bytes>& all) {
  Uses uses;
  for (const Bytes& bytes : all) uses.push_back({bytes});
  return queue_uses(handle, thread, uses);
}
Node Reference::queue_uses(std::uint64_t handle, int thread, const Uses& uses) {
  const int stream = history_.find(handle, thread);
  if (stream != capture_) return history_.add(stream, uses);
  captured_.insert(captured_.end(), uses.begin(), uses.end());
  return -1;
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
  return stream < 0 ? plain(false) : wait(history_.busy_with(stream));
}
void Reference::accept(const calls::StreamQuery& made, int thread) {
  history_.learn(history_.awaited(history_.find(value_of(made.hStream), thread)));
}
// Waiting for an event that was never recorded does nothing, not even on the legacy stream. A shim
// cannot know that the event was never recorded.
Opinion Reference::judge(const calls::StreamWaitEvent& made, int thread) {
  const Event* event = alive(events_, value_of(made.hEvent));
  return plain(event && event->node >= 0 && history_.find(value_of(made.hStream), thread) >= 0 &&
               made.Flags == 0);
}
void Reference::accept(const calls::StreamWaitEvent& made, int thread) {
  const Node node = alive(events_, value_of(made.hEvent))->node;
  history_.wait(history_.find(value_of(made.hStream), thread), node);
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

}  // namespace cuvmm::fuzz::flight
