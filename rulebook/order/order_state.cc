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
  Context& home = contexts_[context];
  if (kind == Kind::kLegacy) {
    home.legacy = id;
    for (auto& [other, each] : streams_) each.seen_legacy = each.seen_by_legacy = 0;
  }
  stream.home = &home;
  ++home.changes;
  join(stream.after, home.after);
  return id;
}

void OrderState::close(StreamId stream) {
  Stream* const found = streams_.find(stream);
  if (!found) return;
  found->closed = true;
  // A stream whose work is over can be forgotten, because finished() takes an unknown stream for
  // over.
  if (finished(stream, found->last)) streams_.erase(stream);
}

void OrderState::close_context(ContextId context) {
  finish(given_to(context));
  streams_.erase_if([&](const auto& each) { return each.second.context == context; });
  forget_ended();
  contexts_.erase(context);
}

Position OrderState::queue(StreamId id) {
  Stream* const found = streams_.find(id);
  if (!found) return 0;
  Stream& stream = *found;
  arrive(stream);
  change(stream);
  return ++stream.last;
}

void OrderState::record(EventId event, StreamId id) {
  Stream* const found = streams_.find(id);
  if (!found) return;
  Stream& stream = *found;
  if (stream.kind == Kind::kLegacy) arrive(stream);
  Clock clock;
  join(clock, stream.after);
  clock.raise(id, stream.last);
  // The event waits for all that new work would wait for; the stream itself gets no work.
  awaited(*this, stream, [&](StreamId other, const Stream& from) {
    join(clock, from.after);
    if (!finished(other, from.last)) clock.raise(other, from.last);
  });
  events_[event] = std::move(clock);
}

void OrderState::wait(StreamId id, EventId event) {
  Stream* const found = streams_.find(id);
  if (!found) return;
  Stream& stream = *found;
  if (stream.kind == Kind::kLegacy) arrive(stream);
  const auto recorded = events_.find(event);
  if (recorded == events_.end()) return;
  join(stream.after, recorded->second);
  change(stream);
}

void OrderState::wait_in(std::optional<ContextId> context, EventId event) {
  const Clock waited = recorded(event);
  for (auto& [id, home] : contexts_) {
    if (!context || id == *context) join(home.after, waited);
  }
  for (auto& [id, stream] : streams_) {
    if (context && stream.context != *context) continue;
    join(stream.after, waited);
    change(stream);
  }
}

Clock OrderState::given(StreamId id) const {
  // A blocking stream waits for the legacy stream when its next work is queued, and not before. A
  // wait for the legacy stream is a wait for all blocking streams, too; but such a wait queues no
  // work to the legacy stream, so no later work of other streams waits for it.
  const Stream* const found = streams_.find(id);
  return found && found->kind == Kind::kLegacy ? before_next(id) : own(id);
}

Clock OrderState::own(StreamId id) const {
  const Stream* const found = streams_.find(id);
  if (!found) return {};
  Clock over = found->after;
  over.raise(id, found->last);
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

Clock OrderState::before_next(StreamId id) const {
  Clock before = own(id);
  const Stream* const found = streams_.find(id);
  if (!found) return before;
  awaited(*this, *found, [&](StreamId other, const Stream& stream) {
    before.join(stream.after);
    before.raise(other, stream.last);
  });
  return before;
}

Clock OrderState::everything() const {
  Clock all;
  for (const auto& [id, stream] : streams_) all.raise(id, stream.last);
  return all;
}

void OrderState::tell_beside(StreamId by) {
  tell(everything());
  const Clock before = own(by);
  for (const auto& [id, stream] : streams_) {
    const Position first = before.at(id);
    if (stream.last <= first || finished(id, stream.last)) continue;
    if (reported_during_run_.at(id) == 0) {
      before_reported_.raise(id, first);
    } else {
      before_reported_.cap(id, first);
    }
    reported_during_run_.raise(id, stream.last);
  }
}

void OrderState::hear(StreamId id) {
  const Stream* const found = streams_.find(id);
  if (found) open_waits_.raise(id, found->last);
}

bool OrderState::hears(StreamId later) const {
  return std::any_of(open_waits_.begin(), open_waits_.end(), [&](const Clock::Reached& wait) {
    return comes_before(wait.stream, wait.position, later);
  });
}

Position OrderState::finished_until(StreamId stream) const {
  return streams_.contains(stream) ? finished_.at(stream) : ~Position{0};
}

bool OrderState::comes_before(StreamId stream, Position work, StreamId later) const {
  if (stream == later || finished(stream, work)) return true;
  const Stream* const found = streams_.find(later);
  if (!found) return false;
  bool before = found->after.at(stream) >= work;
  awaited(*this, *found, [&](StreamId id, const Stream& other) {
    before |= id == stream || other.after.at(stream) >= work;
  });
  return before;
}

bool OrderState::idle(StreamId stream) const {
  const Stream* const found = streams_.find(stream);
  return !found || finished(stream, found->last);
}

bool OrderState::hangs_on(StreamId stream, StreamId other) const {
  if (!idle(stream)) return false;
  const Stream* const found = streams_.find(stream);
  if (!found) return true;
  const Clock& after = found->after;
  return std::all_of(after.begin(), after.end(), [&](const Clock::Reached& each) {
    return each.stream == other || finished(each.stream, each.position);
  });
}

bool OrderState::busy_for_itself(StreamId legacy) const {
  const Stream* const found = streams_.find(legacy);
  return found && std::all_of(streams_.begin(), streams_.end(), [&](const auto& each) {
           const auto& [id, stream] = each;
           const bool counts = stream.context == found->context && stream.kind == Kind::kBlocking;
           return !counts || hangs_on(id, legacy);
         });
}

template <class Self, class Visit>
void OrderState::awaited(Self& self, const Stream& stream, Visit visit) {
  if (stream.kind == Kind::kNonBlocking) return;
  const StreamId legacy = stream.home->legacy;
  if (stream.kind == Kind::kBlocking) {
    if (auto* const found = self.streams_.find(legacy)) visit(legacy, *found);
    return;
  }
  for (auto& [id, other] : self.streams_) {
    if (other.context == stream.context && other.kind == Kind::kBlocking) visit(id, other);
  }
}

void OrderState::arrive(Stream& stream) {
  if (stream.kind == Kind::kLegacy) {
    // A context may have many blocking streams, and each launch passes here.
    const std::uint64_t changes = stream.home->changes;
    if (std::exchange(stream.seen_changes, changes) == changes) return;
  }
  awaited(*this, stream, [&](StreamId id, Stream& other) {
    const bool legacy = stream.kind == Kind::kLegacy;
    std::uint64_t& seen = legacy ? other.seen_by_legacy : stream.seen_legacy;
    if (seen == other.version) return;
    seen = other.version;
    follow(stream, id, other);
  });
}

void OrderState::follow(Stream& stream, StreamId other, const Stream& from) {
  join(stream.after, from.after);
  if (!finished(other, from.last)) stream.after.raise(other, from.last);
  change(stream);
}

void OrderState::join(Clock& into, const Clock& from) const {
  for (const Clock::Reached& each : from) {
    if (!finished(each.stream, each.position)) into.raise(each.stream, each.position);
  }
}

void OrderState::forget_ended() {
  const auto has_ended = [&](const Clock::Reached& each) {
    return !streams_.contains(each.stream);
  };
  finished_.forget_if(has_ended);
  reported_.forget_if(has_ended);
  reported_during_run_.forget_if(has_ended);
  before_reported_.forget_if(has_ended);
  open_waits_.forget_if(has_ended);
}

void OrderState::hear_out() {
  const std::size_t before = open_waits_.size();
  open_waits_.forget_if(
      [&](const Clock::Reached& wait) { return finished(wait.stream, wait.position); });
  if (open_waits_.size() != before) tell_beside(0);
  reported_during_run_.forget_if(
      [&](const Clock::Reached& reported) { return finished(reported.stream, reported.position); });
  before_reported_.forget_if([&](const Clock::Reached& reported) {
    return reported_during_run_.at(reported.stream) == 0;
  });
}

void OrderState::finish(const Clock& over) {
  for (const Clock::Reached& each : over) {
    if (streams_.contains(each.stream)) finished_.raise(each.stream, each.position);
  }
  if (open_waits_.size() != 0 || reported_during_run_.size() != 0) [[unlikely]]
    hear_out();
  for (const Clock::Reached& each : over) {
    const Stream* const found = streams_.find(each.stream);
    if (!found) continue;
    if (found->closed && finished_.at(each.stream) >= found->last) {
      streams_.erase(each.stream);
      forget_ended();
    }
  }
  // No clock needs to list work that is over.
  for (auto& [id, stream] : streams_) {
    stream.after.forget_if(
        [&](const Clock::Reached& one) { return finished(one.stream, one.position); });
  }
}

}  // namespace cuvmm
