// SPDX-License-Identifier: Apache-2.0
// The streams of the program: which stream a handle means, which threads are inside of a call on a
// stream, and how streams end.
#include <unistd.h>

#include <utility>

#include "api/posix/cancel_off.h"
#include "shim/queued_work/queued_work.h"

namespace cuvmm::shim {

namespace {

std::uint32_t own_thread() {
  if (t_state.thread == 0) t_state.thread = static_cast<std::uint32_t>(::gettid());
  return t_state.thread;
}

}  // namespace

std::uint64_t QueuedWork::current_context() const {
  CUcontext context = nullptr;
  return options_.questions.context(&context) == CUDA_SUCCESS ? number_of(context) : 0;
}

StreamKey QueuedWork::key_of(CUstream handle, bool per_thread) const {
  StreamKey key{number_of(handle)};
  if (!key.is_default()) return key;
  if (key.handle == 0) key.handle = per_thread ? StreamKey::kPerThread : StreamKey::kLegacy;
  key.context = current_context();
  if (key.handle == StreamKey::kPerThread) key.thread = own_thread();
  return key;
}

bool QueuedWork::capturing(const StreamKey& key) const {
  const CancelOff no_cancel;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult answer =
      options_.questions.is_capturing(reinterpret_cast<CUstream>(key.handle), &status);
  return answer != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

LearnedStream QueuedWork::learn(const StreamKey& key) const {
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
  return {true, number_of(context),
          apart ? OrderState::Kind::kNonBlocking : OrderState::Kind::kBlocking};
}

QueuedWork::Ticket QueuedWork::let_in(Stream& stream, ReservedEvent* reserved) {
  const bool alone = stream.inside++ == 0;
  if (!alone) ++stream.overlaps;
  // An event belongs to the context of its stream. Taken here, because this function runs under the
  // lock anyway.
  if (reserved) {
    reserved->stream = stream.key.handle;
    events_.take(stream.learned.context, *reserved);
  }
  return {.stream = stream.id, .alone = alone, .overlaps = stream.overlaps};
}

QueuedWork::Ticket QueuedWork::enter(CUstream handle, bool per_thread, ReservedEvent* reserved) {
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

void QueuedWork::begin_transfer(Stream& stream, Ticket& ticket, bool tells, Clock* before) {
  if (!pending_.load(std::memory_order_relaxed)) return;
  if (before) *before = order_.before_next(ticket.stream);
  if (!tells) return;
  ++stream.telling;
  ++telling_;
  ticket.tells = true;
}

QueuedWork::Ticket QueuedWork::enter_transfer(CUstream handle, bool per_thread, bool tells,
                                              Clock* before) {
  const StreamKey key = key_of(handle, per_thread);
  if (captures() && capturing(key)) return {};
  {
    const Locked lock(mutex_);
    if (Stream* known = streams_.find(key)) [[likely]] {
      Ticket ticket = let_in(*known, nullptr);
      begin_transfer(*known, ticket, tells, before);
      return ticket;
    }
  }
  Ticket ticket = meet(key, nullptr);
  if (!ticket) return ticket;
  const Locked lock(mutex_);
  if (Stream* const met = streams_.at(ticket.stream)) begin_transfer(*met, ticket, tells, before);
  return ticket;
}

QueuedWork::Ticket QueuedWork::meet(const StreamKey& key, ReservedEvent* reserved) {
  const LearnedStream learned = learn(key);
  if (!learned.known) return {};
  const Locked lock(mutex_);
  if (Stream* known = streams_.find(key)) return let_in(*known, reserved);
  return let_in(streams_.add(order_.open(learned.context, learned.kind), key, learned), reserved);
}

Stream* QueuedWork::leave(const Ticket& ticket) {
  Stream* const stream = streams_.at(ticket.stream);
  if (stream) --stream->inside;
  return stream;
}

void QueuedWork::cancel(const Ticket& ticket, const ReservedEvent& reserved) {
  if (!ticket) return;
  const Locked lock(mutex_);
  give_back(reserved);
  leave(ticket);
}

// --- Ends

void QueuedWork::close(StreamId id) {
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

void QueuedWork::forget_stream(StreamId id) {
  uses_.forget(id, [&](const Use& use) CUVMM_UNCHECKED { dropped(id, use); });
  const Stream* const stream = streams_.at(id);
  if (stream) give_back(stream->last_event);
  streams_.forget(id);
}

// Forgets destroyed streams whose work is over, and the oldest destroyed stream if there are too
// many.
void QueuedWork::sweep_destroyed() {
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

// Records an event behind all work of a stream of the current context, if the work may be
// unfinished: after the stream's destruction no call can ask the stream itself.
OwnEvent QueuedWork::event_behind(const StreamKey& key) {
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

void QueuedWork::destroy_stream(CUstream handle) {
  const StreamKey key{number_of(handle)};
  if (key.is_default()) return;
  const CancelOff no_cancel;
  const bool askable = has_pending() && !(captures() && capturing(key));
  const OwnEvent last_event = askable ? event_behind(key) : OwnEvent{};
  const Locked lock(mutex_);
  Stream* stream = streams_.find(key);
  if (!stream) return give_back(last_event);
  const StreamId id = stream->id;
  stream->last_event = last_event;
  streams_.forget_key(key);  // no thread begins to ask the stream from here on
  Patience patience;
  for (stream = streams_.at(id); stream && stream->asking != 0; stream = streams_.at(id)) {
    const Unlocked unlocked(mutex_);
    patience.wait();
  }
  if (stream) close(id);
}

void QueuedWork::end_context() {
  arguments_.changed();
  arguments_.layouts().forget_all();
  graphs_.clear();
  const Locked lock(mutex_);
  const auto asked = [&]() CUVMM_UNCHECKED {
    for (const auto& [id, stream] : streams_) {
      if (stream.asking != 0) return true;
    }
    return false;
  };
  // The driver is not asked which streams the context's end destroys: enter() adds a stream again
  // when a call uses an unknown one. No thread begins to ask about one of these streams meanwhile,
  // so that the wait has an end.
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
  births_.clear();
  shared_events_.clear();
  pending_.store(false, std::memory_order_relaxed);
}

void QueuedWork::forget(CUevent event) {
  const Locked lock(mutex_);
  shared_events_.erase(number_of(event));
  order_.forget(number_of(event));
}

}  // namespace cuvmm::shim
