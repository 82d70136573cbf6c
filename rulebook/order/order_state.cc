// SPDX-License-Identifier: Apache-2.0
#include "rulebook/order/order_state.h"

#include <algorithm>
#include <vector>

namespace cuvmm {

StreamId OrderState::open(ContextId context, Kind kind) {
  const StreamId id = ++newest_;
  Stream& stream = streams_[id];
  stream.context = context;
  stream.kind = kind;
  if (kind == Kind::kLegacy) contexts_[context].legacy = id;
  return id;
}

void OrderState::close(StreamId stream) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return;
  found->second.closed = true;
  // What is over needs no memory of it: finished() takes a stream that it does not know for over.
  if (finished(stream, found->second.last)) streams_.erase(found);
}

void OrderState::close_context(ContextId context) {
  context_finished(context);
  std::erase_if(streams_, [&](const auto& each) { return each.second.context == context; });
  finished_.forget_if([&](const Clock::Reached& each) { return !streams_.contains(each.stream); });
  contexts_.erase(context);
}

Position OrderState::queue(StreamId id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return 0;
  Stream& stream = found->second;
  arrive(stream);
  ++stream.version;
  return ++stream.last;
}

void OrderState::record(EventId event, StreamId id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  Stream& stream = found->second;
  arrive(stream);
  Clock clock;
  join(clock, stream.after);
  clock.raise(id, stream.last);
  events_[event] = std::move(clock);
}

void OrderState::wait(StreamId id, EventId event) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  Stream& stream = found->second;
  arrive(stream);
  const auto recorded = events_.find(event);
  if (recorded == events_.end()) return;
  join(stream.after, recorded->second);
  ++stream.version;
}

void OrderState::stream_finished(StreamId id) { finish(given(id)); }

void OrderState::event_finished(EventId event) { finish(recorded(event)); }

void OrderState::context_finished(ContextId context) { finish(given_to(context)); }

Clock OrderState::given(StreamId id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return {};
  // A blocking stream waits for the legacy one before what it is given next, and not before.
  if (found->second.kind == Kind::kLegacy) arrive(found->second);
  return own(id);
}

Clock OrderState::own(StreamId id) const {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return {};
  Clock over = found->second.after;
  over.raise(id, found->second.last);
  return over;
}

Clock OrderState::recorded(EventId event) const {
  const auto found = events_.find(event);
  return found == events_.end() ? Clock{} : found->second;
}

Clock OrderState::given_to(ContextId context) const {
  Clock over;
  for (const auto& [id, stream] : streams_) {
    if (stream.context != context) continue;
    over.join(stream.after);
    over.raise(id, stream.last);
  }
  return over;
}

bool OrderState::finished(StreamId stream, Position work) const {
  return !streams_.contains(stream) || finished_.at(stream) >= work;
}

bool OrderState::comes_before(StreamId stream, Position work, StreamId later) const {
  if (stream == later || finished(stream, work)) return true;
  const auto found = streams_.find(later);
  if (found == streams_.end()) return false;
  bool before = found->second.after.at(stream) >= work;
  awaited(found->second, [&](StreamId id, const Stream& other) {
    before |= id == stream || other.after.at(stream) >= work;
  });
  return before;
}

bool OrderState::idle(StreamId stream) const {
  const auto found = streams_.find(stream);
  return found == streams_.end() || finished(stream, found->second.last);
}

bool OrderState::hangs_on(StreamId stream, StreamId other) const {
  if (!idle(stream)) return false;
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return true;
  const Clock& after = found->second.after;
  return std::all_of(after.begin(), after.end(), [&](const Clock::Reached& each) {
    return each.stream == other || finished(each.stream, each.position);
  });
}

bool OrderState::busy_for_itself(StreamId legacy) const {
  const auto found = streams_.find(legacy);
  return found != streams_.end() &&
         std::all_of(streams_.begin(), streams_.end(), [&](const auto& each) {
           const auto& [id, stream] = each;
           const bool counts =
               stream.context == found->second.context && stream.kind == Kind::kBlocking;
           return !counts || hangs_on(id, legacy);
         });
}

bool OrderState::is_last(StreamId stream, Position work) const {
  const auto found = streams_.find(stream);
  return found != streams_.end() && found->second.last == work;
}

template <class Visit>
void OrderState::awaited(const Stream& stream, Visit visit) const {
  const auto context = contexts_.find(stream.context);
  if (context == contexts_.end() || stream.kind == Kind::kNonBlocking) return;
  if (stream.kind == Kind::kBlocking) {
    const auto legacy = streams_.find(context->second.legacy);
    if (legacy != streams_.end()) visit(legacy->first, legacy->second);
    return;
  }
  for (const auto& [id, other] : streams_) {
    if (other.context == stream.context && other.kind == Kind::kBlocking) visit(id, other);
  }
}

void OrderState::arrive(Stream& stream) {
  awaited(stream, [&](StreamId id, const Stream& other) {
    if (stream.kind == Kind::kBlocking && stream.seen_legacy == other.version) return;
    stream.seen_legacy = other.version;
    follow(stream, id, other);
  });
}

void OrderState::follow(Stream& stream, StreamId other, const Stream& from) {
  join(stream.after, from.after);
  if (!finished(other, from.last)) stream.after.raise(other, from.last);
  ++stream.version;
}

void OrderState::join(Clock& into, const Clock& from) const {
  for (const Clock::Reached& each : from) {
    if (!finished(each.stream, each.position)) into.raise(each.stream, each.position);
  }
}

void OrderState::finish(const Clock& over) {
  for (const Clock::Reached& each : over) {
    const auto found = streams_.find(each.stream);
    if (found == streams_.end()) continue;
    finished_.raise(each.stream, each.position);
    if (found->second.closed && finished_.at(each.stream) >= found->second.last) {
      streams_.erase(found);
      finished_.forget_if([&](const Clock::Reached& one) { return one.stream == each.stream; });
    }
  }
  // What is over no clock has to say again.
  for (auto& [id, stream] : streams_) {
    stream.after.forget_if(
        [&](const Clock::Reached& one) { return finished(one.stream, one.position); });
  }
}

}  // namespace cuvmm
