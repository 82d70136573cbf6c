// SPDX-License-Identifier: Apache-2.0
#include "shim/queued_work/work_room.h"

#include <unistd.h>

#include <iterator>
#include <new>
#include <utility>

#include "api/posix/cancel_off.h"

namespace cuvmm::shim {

namespace {

std::uint64_t number(const void* handle) { return reinterpret_cast<std::uintptr_t>(handle); }

// Under a lock, so that one writes at a time: no locked instruction is needed.
void count_up(std::atomic<std::uint64_t>& count) {
  count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

std::uint32_t own_thread() {
  if (t_state.thread == 0) t_state.thread = static_cast<std::uint32_t>(::gettid());
  return t_state.thread;
}

}  // namespace

void WorkRoom::follow_more(Address base, Size size) {
  wake();
  if (active()) bounds_.widen(base, size + 1);
}

void WorkRoom::watch(std::uint64_t object, const Watched& watched, bool again) {
  follow(watched.memory.base, watched.memory.size);
  if (!active()) return;
  changed();
  const Locked lock(mutex_);
  const auto [first, end] = watched_.equal_range(object);
  for (auto it = first; it != end; ++it) {
    if (it->second.memory.base != watched.memory.base) continue;
    if (!again) it->second = watched;
    return;
  }
  watched_.emplace(object, watched);
}

std::vector<WorkRoom::Watched> WorkRoom::watched(std::uint64_t object) {
  const Locked lock(mutex_);
  std::vector<Watched> memory;
  const auto [first, end] = watched_.equal_range(object);
  for (auto it = first; it != end; ++it) memory.push_back(it->second);
  return memory;
}

void WorkRoom::unwatch(std::uint64_t object, std::uint64_t ended_by) {
  if (!active()) return;
  const Locked lock(mutex_);
  auto [at, end] = watched_.equal_range(object);
  while (at != end) at = at->second.since <= ended_by ? watched_.erase(at) : std::next(at);
  const auto birth = births_.find(object);
  if (birth != births_.end() && birth->second.since <= ended_by) births_.erase(birth);
}

// --- Streams

std::uint64_t WorkRoom::current_context() const {
  CUcontext context = nullptr;
  return options_.questions.context(&context) == CUDA_SUCCESS ? number(context) : 0;
}

StreamKey WorkRoom::key_of(CUstream handle, bool per_thread) const {
  StreamKey key{number(handle)};
  if (!key.is_default()) return key;
  if (key.handle == 0) key.handle = per_thread ? StreamKey::kPerThread : StreamKey::kLegacy;
  key.context = current_context();
  if (key.handle == StreamKey::kPerThread) key.thread = own_thread();
  return key;
}

bool WorkRoom::capturing(const StreamKey& key) const {
  const CancelOff no_cancel;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult answer =
      options_.questions.is_capturing(reinterpret_cast<CUstream>(key.handle), &status);
  return answer != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

LearnedStream WorkRoom::learn(const StreamKey& key) const {
  if (key.handle == StreamKey::kLegacy) {
    return {key.context != 0, key.context, OrderState::Kind::kLegacy};
  }
  if (key.handle == StreamKey::kPerThread) {
    return {key.context != 0, key.context, OrderState::Kind::kBlocking};
  }
  const CancelOff no_cancel;
  const RelaxedCapture relaxed(options_.questions, captures());
  const auto handle = reinterpret_cast<CUstream>(key.handle);
  CUcontext context = nullptr;
  unsigned flags = 0;
  if (options_.questions.stream_context(handle, &context) != CUDA_SUCCESS ||
      options_.questions.stream_flags(handle, &flags) != CUDA_SUCCESS) {
    return {};
  }
  const bool apart = (flags & CU_STREAM_NON_BLOCKING) != 0;
  return {true, number(context),
          apart ? OrderState::Kind::kNonBlocking : OrderState::Kind::kBlocking};
}

WorkRoom::Ticket WorkRoom::let_in(Stream& stream, ReservedEvent* reserved) {
  const bool alone = stream.inside++ == 0;
  if (!alone) ++stream.overlaps;
  // An event belongs to the context of its stream. The lock is held anyway.
  if (reserved) {
    reserved->stream = stream.key.handle;
    events_.take(stream.learned.context, *reserved);
  }
  return {.stream = stream.id, .alone = alone, .overlaps = stream.overlaps};
}

WorkRoom::Ticket WorkRoom::enter(CUstream handle, bool per_thread, ReservedEvent* reserved) {
  const StreamKey key = key_of(handle, per_thread);
  if (captures() && capturing(key)) return {};
  if (options_.mode != AsyncMode::kExact) reserved = nullptr;
  {
    const Locked lock(mutex_);
    if (Stream* known = streams_.find(key)) [[likely]]
      return let_in(*known, reserved);
  }
  return meet(key, reserved);
}

WorkRoom::Ticket WorkRoom::meet(const StreamKey& key, ReservedEvent* reserved) {
  const LearnedStream learned = learn(key);
  if (!learned.known) return {};
  const Locked lock(mutex_);
  if (Stream* known = streams_.find(key)) return let_in(*known, reserved);
  return let_in(streams_.add(order_.open(learned.context, learned.kind), key, learned), reserved);
}

Stream* WorkRoom::leave(const Ticket& ticket) {
  Stream* const stream = streams_.at(ticket.stream);
  if (stream) --stream->inside;
  return stream;
}

void WorkRoom::cancel(const Ticket& ticket, const ReservedEvent& reserved) {
  if (!ticket) return;
  const Locked lock(mutex_);
  give_back(reserved);
  leave(ticket);
}

// --- What is queued

void WorkRoom::act(const Ticket& ticket, Launch launch, const ReservedEvent& reserved) {
  if (!ticket) return;
  const Locked lock(mutex_);
  give_back(reserved);
  count(launch);
  Stream* const stream = leave(ticket);
  if (!stream) return;
  ++stream->actions;
  order_.queue(stream->id);
}

WorkRoom::Place WorkRoom::next_place(const Ticket& ticket, const Stream& stream) {
  const Position position = order_.queue(stream.id);
  // What the host knows to be over mostly went when it learnt so; work of before then may stay.
  constexpr Position kNowAndThen = 64;
  if (position % kNowAndThen == 0) drop_finished(stream.id);
  // Not written again and again: other threads read its cache line in each of their calls.
  if (!pending_.load(std::memory_order_relaxed)) pending_.store(true, std::memory_order_relaxed);
  return {position, ticket.alone && stream.overlaps == ticket.overlaps};
}

template <class Memory>
Position WorkRoom::add_use(const Ticket& ticket, const Use& use, const OwnEvent& event,
                           const Memory& memory) {
  Stream* const stream = leave(ticket);
  // Another thread may have destroyed it meanwhile.
  if (!stream) return give_back(event), 0;
  ++stream->actions;
  const Place place = next_place(ticket, *stream);
  if (place.position == 0) return give_back(event), 0;
  Use& added = uses_.add(stream->id, use, memory,
                         [&](const Use& gone) CUVMM_UNCHECKED { dropped(ticket.stream, gone); });
  added.position = place.position;
  added.action = stream->actions;
  added.event = event.event;
  added.sure = use.sure && place.sure;
  return place.position;
}

Position WorkRoom::use(const Ticket& ticket, const Use& use, const UsedMemory& memory,
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

Position WorkRoom::use(const Ticket& ticket, const Use& use, const Uses::Shared& ranges) {
  if (!ticket) return 0;
  if (!ranges || ranges->empty()) return act(ticket), 0;
  const OwnEvent event = options_.mode == AsyncMode::kExact ? record_own(ticket) : OwnEvent{};
  const Locked lock(mutex_);
  return add_use(ticket, use, event, ranges);
}

OwnEvent WorkRoom::record_own(const Ticket& ticket, const ReservedEvent& reserved) {
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

// Of a launch only until there are as many events as it needs.
[[gnu::cold, gnu::noinline]] OwnEvent WorkRoom::record_own(const Ticket& ticket) {
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

void WorkRoom::dropped(StreamId id, const Use& use) {
  if (!order_.finished(id, use.position)) count_up(dropped_);
  const Stream* const stream = streams_.at(id);
  if (use.event != 0 && stream) events_.give_back(stream->learned.context, use.event);
}

void WorkRoom::drop_finished(StreamId id) {
  const Position finished = order_.finished_until(id);
  const Stream* const stream = streams_.at(id);
  uses_.drop_while(id, [&](const Use& use) CUVMM_UNCHECKED {
    if (use.position > finished) return false;
    if (use.event != 0 && stream) events_.give_back(stream->learned.context, use.event);
    return true;
  });
}

// --- Order

void WorkRoom::record(const Ticket& ticket, CUevent event) {
  const Locked lock(mutex_);
  // Recorded where nothing is known, it stands for nothing that is known.
  order_.forget(number(event));
  if (!ticket) return;
  if (leave(ticket)) order_.record(number(event), ticket.stream);
  if (shared_events_.contains(number(event))) [[unlikely]]
    order_.tell(order_.recorded(number(event)));
}

void WorkRoom::record_ahead(const Ticket& ticket, CUevent event) {
  const Locked lock(mutex_);
  order_.forget(number(event));
  if (ticket) order_.record(number(event), ticket.stream);
}

void WorkRoom::record_context(CUcontext context, CUevent event) {
  const Locked lock(mutex_);
  order_.record(number(event), context ? order_.given_to(number(context)) : order_.everything());
  if (shared_events_.contains(number(event))) [[unlikely]]
    order_.tell(order_.recorded(number(event)));
}

void WorkRoom::wait_in_context(CUcontext context, CUevent event) {
  const Locked lock(mutex_);
  order_.wait_in(context ? std::optional(number(context)) : std::nullopt, number(event));
}

void WorkRoom::wait(const Ticket& ticket, CUevent event) {
  if (!ticket) return;
  const Locked lock(mutex_);
  Stream* const stream = leave(ticket);
  if (!stream) return;
  ++stream->actions;
  order_.wait(stream->id, number(event));
  if (!shared_events_.contains(number(event))) [[likely]]
    return;
  order_.queue(stream->id);
  order_.hear(stream->id);
}

Clock WorkRoom::given(CUstream handle, bool per_thread) {
  if (!pending_.load(std::memory_order_relaxed)) return {};
  const StreamKey key = key_of(handle, per_thread);
  {
    const Locked lock(mutex_);
    if (const Stream* known = streams_.find(key)) return order_.given(known->id);
  }
  // A wait for the legacy stream is one for all blocking streams, though it was given nothing yet.
  if (key.handle != StreamKey::kLegacy) return {};
  const LearnedStream learned = learn(key);
  if (!learned.known) return {};
  const Locked lock(mutex_);
  Stream* stream = streams_.find(key);
  if (!stream) stream = &streams_.add(order_.open(learned.context, learned.kind), key, learned);
  return order_.given(stream->id);
}

Clock WorkRoom::recorded(CUevent event) {
  if (!pending_.load(std::memory_order_relaxed)) return {};
  const Locked lock(mutex_);
  return order_.recorded(number(event));
}

Clock WorkRoom::given_to(CUcontext context) {
  if (!pending_.load(std::memory_order_relaxed)) return {};
  const std::uint64_t id = context ? number(context) : current_context();
  const Locked lock(mutex_);
  return order_.given_to(id);
}

void WorkRoom::over(const Clock& clock) {
  if (clock.size() == 0) return;
  const Locked lock(mutex_);
  order_.over(clock);
  for (const Clock::Reached& each : clock) drop_finished(each.stream);
}

// --- Ends

void WorkRoom::close(StreamId id) {
  Stream* const stream = streams_.at(id);
  if (!stream) return;
  streams_.forget_key(stream->key);
  const bool pending = !order_.idle(id);
  order_.close(id);
  sweep_destroyed();
  if (pending && (options_.unordered || stream->last_event.event != 0)) {
    stream->destroyed = true;
    destroyed_.push_back(id);
    return;
  }
  forget_stream(id);
}

void WorkRoom::forget_stream(StreamId id) {
  uses_.forget(id, [&](const Use& use) CUVMM_UNCHECKED { dropped(id, use); });
  const Stream* const stream = streams_.at(id);
  if (stream) give_back(stream->last_event);
  streams_.forget(id);
}

// What is over of them goes, and the oldest if there are many.
void WorkRoom::sweep_destroyed() {
  const auto asked = [&](StreamId id) CUVMM_UNCHECKED {
    const Stream* const stream = streams_.at(id);
    return stream && stream->asking != 0;
  };
  std::erase_if(destroyed_, [&](StreamId id) CUVMM_UNCHECKED {
    if (asked(id) || !order_.idle(id)) return false;
    forget_stream(id);
    return true;
  });
  if (destroyed_.size() < kMostDestroyed || asked(destroyed_.front())) return;
  forget_stream(destroyed_.front());
  destroyed_.erase(destroyed_.begin());
}

// Behind all that a stream of the current context was given, if that may be unfinished: once it is
// destroyed, nobody can ask for it.
OwnEvent WorkRoom::event_behind(const StreamKey& key) {
  const std::uint64_t current = current_context();
  OwnEvent own;
  {
    const Locked lock(mutex_);
    const Stream* const stream = streams_.find(key);
    if (!stream || order_.idle(stream->id) || stream->learned.context != current) return {};
    events_.take(current, own);
  }
  const RelaxedCapture relaxed(options_.questions, captures());
  if (own.event == 0) own.event = make_event(options_.questions);
  if (own.event == 0 || record_event(options_.questions, own.event, key.handle)) return own;
  const Locked lock(mutex_);
  give_back(own);
  return {};
}

void WorkRoom::destroy_stream(CUstream handle) {
  const StreamKey key{number(handle)};
  if (key.is_default()) return;
  const CancelOff no_cancel;
  const bool askable = has_pending() && !(captures() && capturing(key));
  const OwnEvent last_event = askable ? event_behind(key) : OwnEvent{};
  const Locked lock(mutex_);
  Stream* stream = streams_.find(key);
  if (!stream) return give_back(last_event);
  const StreamId id = stream->id;
  stream->last_event = last_event;
  streams_.forget_key(key);  // nobody begins to ask
  Patience patience;
  for (stream = streams_.at(id); stream && stream->asking != 0; stream = streams_.at(id)) {
    const Unlocked unlocked(mutex_);
    patience.wait();
  }
  if (stream) close(id);
}

void WorkRoom::end_context() {
  layouts_.forget_all();
  const Locked lock(mutex_);
  const auto asked = [&]() CUVMM_UNCHECKED {
    for (const auto& [id, stream] : streams_) {
      if (stream.asking != 0) return true;
    }
    return false;
  };
  // Which of the streams it ends is not asked: what is not known is met again. Nobody begins to ask
  // about one of them meanwhile, so that the wait has an end.
  ++ending_;
  for (Patience patience; asked();) {
    const Unlocked unlocked(mutex_);
    patience.wait();
  }
  --ending_;
  for (const auto& [id, stream] : streams_) order_.close_context(stream.learned.context);
  streams_.clear();
  destroyed_.clear();
  uses_.clear();
  events_.clear();
  graphs_.clear();
  orders_.clear();
  births_.clear();
  shared_events_.clear();
  pending_.store(false, std::memory_order_relaxed);
}

void WorkRoom::forget(CUevent event) {
  const Locked lock(mutex_);
  shared_events_.erase(number(event));
  order_.forget(number(event));
}

// --- Graphs

void WorkRoom::add_graph(CUgraphExec exec, GraphRecord record) {
  const Locked lock(mutex_);
  graphs_[exec] = std::move(record);
}

std::shared_ptr<const GraphUses> WorkRoom::graph(CUgraphExec exec) {
  const Locked lock(mutex_);
  const auto found = graphs_.find(exec);
  return found == graphs_.end() ? nullptr : found->second.uses();
}

void WorkRoom::forget_graph(CUgraphExec exec) {
  const Locked lock(mutex_);
  graphs_.erase(exec);
  orders_.forget(exec);
  order_.forget(number(exec));
}

void WorkRoom::keep_order(CUgraphExec exec, std::shared_ptr<const OrderedGraph> graph) {
  const Locked lock(mutex_);
  orders_.keep(exec, std::move(graph));
  keeps_orders_.store(true, std::memory_order_relaxed);
}

void WorkRoom::forget_order(CUgraphExec exec) {
  if (!keeps_orders()) return;
  const Locked lock(mutex_);
  orders_.forget(exec);
}

void WorkRoom::enable(CUgraphExec exec, CUgraphNode node, bool enabled) {
  if (!keeps_orders()) return;
  const Locked lock(mutex_);
  orders_.enable(exec, node, enabled);
}

std::shared_ptr<const OrderedGraph> WorkRoom::ordered_graph(CUgraphExec exec, CUgraphNode node) {
  if (!keeps_orders()) return nullptr;
  const Locked lock(mutex_);
  return orders_.of(exec, node);
}

// --- Numbers and forks

void WorkRoom::count(Launch launch) {
  if (launch == Launch::kNone) return;
  count_up(launches_);
  if (launch == Launch::kHidden) count_up(hidden_);
}

WorkCounts WorkRoom::counts() const {
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
  counts.lucky = lucky_.load();
  counts.hints = hints_.load();
  return counts;
}

void WorkRoom::lock_for_fork() {
  layouts_.lock_for_fork();
  tensor_maps_.lock_for_fork();
  mutex_.lock();
}

void WorkRoom::unlock_after_fork() {
  mutex_.unlock();
  tensor_maps_.unlock_after_fork();
  layouts_.unlock_after_fork();
}

// There is one thread.
void WorkRoom::start_in_child(bool whole) {
  layouts_.restart(whole);
  tensor_maps_.restart(whole);
  if (!whole) {
    new (&order_) OrderState();
    new (&uses_) Uses();
    new (&streams_) StreamTable();
    new (&destroyed_) decltype(destroyed_)();
    new (&graphs_) decltype(graphs_)();
    new (&orders_) GraphOrders();
    new (&watched_) decltype(watched_)();
    new (&births_) decltype(births_)();
    new (&freed_elsewhere_) decltype(freed_elsewhere_)();
    new (&shared_events_) decltype(shared_events_)();
    new (&named_) decltype(named_)();
    new (&events_) OwnEvents;
  }
  order_ = OrderState();
  uses_.clear();
  streams_.clear();
  destroyed_.clear();
  telling_ = 0;
  graphs_.clear();
  orders_.clear();
  watched_.clear();
  births_.clear();
  shared_events_.clear();
  events_.clear();
  ending_ = 0;
  allocates_.store(false);
  keeps_orders_.store(false);
  left_behind_ = false;
  freed_elsewhere_.clear();
  active_.store(false);
  captures_.store(false);
  pending_.store(false);
  for (auto* count : {&launches_, &hidden_, &dropped_, &lucky_, &hints_}) count->store(0);
  for (auto& count : tracked_) count.store(0);
}

}  // namespace cuvmm::shim
