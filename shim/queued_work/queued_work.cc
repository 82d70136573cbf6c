// SPDX-License-Identifier: Apache-2.0
#include "shim/queued_work/queued_work.h"

#include <new>
#include <utility>

#include "api/posix/cancel_off.h"

namespace cuvmm::shim {

namespace {

// Called under a lock, so that one thread writes at a time: the store needs no locked instruction.
void count_up(std::atomic<std::uint64_t>& count) {
  count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

}  // namespace

void QueuedWork::follow_more(Address base, Size size) {
  wake();
  if (active()) bounds_.widen(base, size + 1);
}

void QueuedWork::watch(std::uint64_t object, const Watched& memory, bool again) {
  follow_named(memory.memory.base, memory.memory.size);
  if (!active()) return;
  arguments_.changed();
  watched_.add(object, memory, again);
}

void QueuedWork::unwatch(std::uint64_t object, std::uint64_t ended_by) {
  if (!active()) return;
  watched_.remove(object, ended_by);
  const Locked lock(mutex_);
  const auto birth = births_.find(object);
  if (birth != births_.end() && birth->second.since <= ended_by) births_.erase(birth);
}

// --- Queued work

void QueuedWork::act(const Ticket& ticket, Launch launch, const ReservedEvent& reserved) {
  if (!ticket) return;
  const Locked lock(mutex_);
  give_back(reserved);
  count(launch);
  Stream* const stream = leave(ticket);
  if (!stream) return;
  ++stream->actions;
  order_.queue(stream->id);
}

QueuedWork::Place QueuedWork::next_place(const Ticket& ticket, const Stream& stream) {
  const Position position = order_.queue(stream.id);
  // Most finished uses go as soon as the host learns that they are over; a few may stay, and this
  // drops them.
  constexpr Position kNowAndThen = 64;
  if (position % kNowAndThen == 0) drop_finished(stream.id);
  // Written only if it is false, because other threads read its cache line in each of their calls.
  if (!pending_.load(std::memory_order_relaxed)) pending_.store(true, std::memory_order_relaxed);
  return {position, ticket.alone && stream.overlaps == ticket.overlaps};
}

template <class Memory>
Position QueuedWork::add_use(const Ticket& ticket, const Use& use, const OwnEvent& event,
                             const Memory& memory) {
  Stream* const stream = leave(ticket);
  // Another thread may have destroyed the stream meanwhile.
  if (!stream) return give_back(event), 0;
  ++stream->actions;
  const Place place = next_place(ticket, *stream);
  if (place.position == 0) return give_back(event), 0;
  Use& added = uses_.add(stream->id, use, memory,
                         [&](const Use& use) CUVMM_UNCHECKED { dropped(ticket.stream, use); });
  added.position = place.position;
  added.action = stream->actions;
  added.event = event.event;
  added.sure = use.sure && place.sure;
  return place.position;
}

Position QueuedWork::use(const Ticket& ticket, const Use& use, const UsedMemory& memory,
                         Launch launch, Evidence surest, const ReservedEvent& reserved) {
  if (!ticket) return 0;
  if (memory.empty()) return act(ticket, launch, reserved), 0;
  const bool by_event =
      options_.mode == AsyncMode::kExact && surest != Evidence::kWord && !use.waited;
  const OwnEvent event = by_event ? record_own(ticket, reserved) : OwnEvent{};
  const Locked lock(mutex_);
  if (!by_event) give_back(reserved);
  count(launch);
  if (launch != Launch::kNone) count_up(tracked_[static_cast<std::size_t>(surest)]);
  return add_use(ticket, use, event, memory);
}

Position QueuedWork::use(const Ticket& ticket, const Use& use, const Uses::Shared& ranges) {
  if (!ticket) return 0;
  if (!ranges || ranges->empty()) return act(ticket), 0;
  const OwnEvent event = options_.mode == AsyncMode::kExact ? record_own(ticket) : OwnEvent{};
  const Locked lock(mutex_);
  return add_use(ticket, use, event, ranges);
}

OwnEvent QueuedWork::record_own(const Ticket& ticket, const ReservedEvent& reserved) {
  if (reserved.event == 0) [[unlikely]]
    return record_own(ticket);
  const CancelOff no_cancel;
  const RelaxedCapture relaxed(options_.questions, captures());
  if (record_event(options_.questions, reserved.event, reserved.stream)) [[likely]]
    return reserved;
  const Locked lock(mutex_);
  give_back(reserved);
  return {};
}

// A launch reaches this function only until the context has as many events as the program's
// launches need.
[[gnu::cold, gnu::noinline]] OwnEvent QueuedWork::record_own(const Ticket& ticket) {
  const CancelOff no_cancel;
  const std::uint64_t current = current_context();
  OwnEvent own;
  std::uint64_t handle = 0;
  {
    const Locked lock(mutex_);
    const Stream* const stream = streams_.at(ticket.stream);
    // An event belongs to the context of its stream.
    if (!stream || stream->learned.context != current) return {};
    handle = stream->key.handle;
    events_.take(current, own);
  }
  const RelaxedCapture relaxed(options_.questions, captures());
  if (own.event == 0) own.event = make_event(options_.questions);
  if (own.event == 0 || record_event(options_.questions, own.event, handle)) return own;
  const Locked lock(mutex_);
  give_back(own);
  return {};
}

void QueuedWork::dropped(StreamId id, const Use& use) {
  if (!order_.finished(id, use.position)) count_up(dropped_);
  const Stream* const stream = streams_.at(id);
  if (use.event != 0 && stream) events_.give_back(stream->learned.context, use.event);
}

void QueuedWork::drop_finished(StreamId id) {
  const Position finished = order_.finished_until(id);
  const Stream* const stream = streams_.at(id);
  uses_.drop_while(id, [&](const Use& use) CUVMM_UNCHECKED {
    if (use.position > finished) return false;
    if (use.event != 0 && stream) events_.give_back(stream->learned.context, use.event);
    return true;
  });
}

// --- Order

void QueuedWork::record(const Ticket& ticket, CUevent event) {
  const Locked lock(mutex_);
  // An event that is recorded on an unknown stream stands for no work that is known.
  order_.forget(number_of(event));
  if (!ticket) return;
  if (leave(ticket)) order_.record(number_of(event), ticket.stream);
  if (shared_events_.contains(number_of(event))) [[unlikely]]
    order_.tell(order_.recorded(number_of(event)));
}

void QueuedWork::record_ahead(const Ticket& ticket, CUevent event) {
  const Locked lock(mutex_);
  order_.forget(number_of(event));
  if (ticket) order_.record(number_of(event), ticket.stream);
}

void QueuedWork::record_context(CUcontext context, CUevent event) {
  const Locked lock(mutex_);
  order_.record(number_of(event),
                context ? order_.given_to(number_of(context)) : order_.everything());
  if (shared_events_.contains(number_of(event))) [[unlikely]]
    order_.tell(order_.recorded(number_of(event)));
}

void QueuedWork::wait_in_context(CUcontext context, CUevent event) {
  const Locked lock(mutex_);
  order_.wait_in(context ? std::optional(number_of(context)) : std::nullopt, number_of(event));
}

void QueuedWork::wait(const Ticket& ticket, CUevent event) {
  if (!ticket) return;
  const Locked lock(mutex_);
  Stream* const stream = leave(ticket);
  if (!stream) return;
  ++stream->actions;
  order_.wait(stream->id, number_of(event));
  if (!shared_events_.contains(number_of(event))) [[likely]]
    return;
  order_.queue(stream->id);
  order_.hear(stream->id);
}

Clock QueuedWork::given(CUstream handle, bool per_thread) {
  if (!pending_.load(std::memory_order_relaxed)) return {};
  const StreamKey key = key_of(handle, per_thread);
  {
    const Locked lock(mutex_);
    if (const Stream* known = streams_.find(key)) return order_.given(known->id);
  }
  // A wait for the legacy stream waits for all blocking streams, even if no work was queued to the
  // legacy stream yet.
  if (key.handle != StreamKey::kLegacy) return {};
  const LearnedStream learned = learn(key);
  if (!learned.known) return {};
  const Locked lock(mutex_);
  Stream* stream = streams_.find(key);
  if (!stream) stream = &streams_.add(order_.open(learned.context, learned.kind), key, learned);
  return order_.given(stream->id);
}

Clock QueuedWork::recorded(CUevent event) {
  if (!pending_.load(std::memory_order_relaxed)) return {};
  const Locked lock(mutex_);
  return order_.recorded(number_of(event));
}

Clock QueuedWork::given_to(CUcontext context) {
  if (!pending_.load(std::memory_order_relaxed)) return {};
  const std::uint64_t id = context ? number_of(context) : current_context();
  const Locked lock(mutex_);
  return order_.given_to(id);
}

void QueuedWork::over(const Clock& clock) {
  if (clock.size() == 0) return;
  const Locked lock(mutex_);
  order_.over(clock);
  for (const Clock::Reached& each : clock) drop_finished(each.stream);
}

// --- Graphs

void QueuedWork::forget_graph(CUgraphExec exec) {
  graphs_.forget(exec);
  const Locked lock(mutex_);
  order_.forget(number_of(exec));
}

// --- Numbers and forks

void QueuedWork::count(Launch launch) {
  if (launch == Launch::kNone) return;
  count_up(launches_);
  if (launch == Launch::kHidden) count_up(hidden_);
}

WorkCounts QueuedWork::counts() const {
  const auto tracked = [&](Evidence evidence) {
    return tracked_[static_cast<std::size_t>(evidence)].load();
  };
  WorkCounts counts;
  counts.launches = launches_.load();
  counts.by_type = tracked(Evidence::kByType);
  counts.by_value = tracked(Evidence::kByValue);
  counts.by_word = tracked(Evidence::kWord);
  counts.tracked = counts.by_type + counts.by_value;
  counts.hidden = hidden_.load();
  counts.dropped = dropped_.load();
  counts.unawaited = unawaited_.load();
  counts.perhaps_unawaited = perhaps_unawaited_.load();
  counts.hints = hints_.load();
  return counts;
}

UnawaitedUse QueuedWork::first_unawaited(bool perhaps) const {
  const Locked lock(mutex_);
  return perhaps ? perhaps_ : first_unawaited_;
}

void QueuedWork::lock_for_fork() {
  arguments_.lock_for_fork();
  graphs_.lock_for_fork();
  watched_.lock_for_fork();
  mutex_.lock();
}

void QueuedWork::unlock_after_fork() {
  mutex_.unlock();
  watched_.unlock_after_fork();
  graphs_.unlock_after_fork();
  arguments_.unlock_after_fork();
}

// The child has only this thread.
void QueuedWork::start_in_child(bool whole) {
  arguments_.restart(whole);
  graphs_.restart(whole);
  watched_.restart(whole);
  if (!whole) {
    new (&order_) OrderState();
    new (&uses_) Uses();
    new (&streams_) StreamTable();
    new (&destroyed_) decltype(destroyed_)();
    new (&births_) decltype(births_)();
    new (&shared_events_) decltype(shared_events_)();
    new (&named_) decltype(named_)();
    new (&events_) OwnEvents;
  }
  order_ = OrderState();
  uses_.clear();
  streams_.clear();
  destroyed_.clear();
  telling_ = 0;
  births_.clear();
  shared_events_.clear();
  events_.clear();
  ending_ = 0;
  allocates_.store(false);
  active_.store(false);
  captures_.store(false);
  pending_.store(false);
  for (auto* count : {&launches_, &hidden_, &dropped_, &unawaited_, &perhaps_unawaited_, &hints_})
    count->store(0);
  for (auto& count : tracked_) count.store(0);
  first_unawaited_ = {};
  perhaps_ = {};
}

}  // namespace cuvmm::shim
