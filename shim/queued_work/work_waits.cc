// SPDX-License-Identifier: Apache-2.0
// Calls by which the host learns that work is over although they are no synchronisation:
// rulebook/order/host_wait.h.
#include <algorithm>

#include "shim/queued_work/queued_work.h"

namespace cuvmm::shim {

Clock QueuedWork::before_next(const Ticket& ticket) {
  if (!pending_.load(std::memory_order_relaxed)) return {};
  const Locked lock(mutex_);
  return order_.before_next(ticket.stream);
}

Clock QueuedWork::everything() {
  if (!pending_.load(std::memory_order_relaxed)) return {};
  const Locked lock(mutex_);
  return order_.everything();
}

void QueuedWork::tell(const Clock& clock) {
  if (clock.size() == 0) return;
  const Locked lock(mutex_);
  order_.tell(clock);
}

void QueuedWork::tell_beside(const Ticket& ticket) {
  const Locked lock(mutex_);
  order_.tell_beside(ticket.stream);
}

void QueuedWork::begin_to_tell(Ticket& ticket) {
  const Locked lock(mutex_);
  Stream* const stream = streams_.at(ticket.stream);
  if (!stream) return;
  ++stream->telling;
  ++telling_;
  ticket.tells = true;
}

void QueuedWork::end_to_tell(const Ticket& ticket) {
  const Locked lock(mutex_);
  if (telling_ != 0) --telling_;
  Stream* const stream = streams_.at(ticket.stream);
  if (stream) --stream->telling;
}

bool QueuedWork::reported(StreamId stream, Position work) {
  if (order_.reported(stream, work)) return true;
  if (telling_ == 0) [[likely]]
    return false;
  return std::any_of(streams_.begin(), streams_.end(), [&](const auto& each) CUVMM_UNCHECKED {
    return each.second.telling != 0 && order_.comes_before(stream, work, each.first);
  });
}

void QueuedWork::settle(const Ticket& ticket, HostWait wait, const Clock* before, Position own) {
  if (wait == HostWait{} || !pending_.load(std::memory_order_relaxed)) return;
  const Locked lock(mutex_);
  settle_here(ticket, wait, before, own);
}

void QueuedWork::settle_here(const Ticket& ticket, HostWait wait, const Clock* before,
                             Position own) {
  if (wait == HostWait{} || !pending_.load(std::memory_order_relaxed)) return;
  Clock known = before ? *before : order_.own(ticket.stream);
  if (wait.what == HostWait::For::kItself) {
    known.raise(ticket.stream, own);
  } else if (own != 0) {
    known.cap(ticket.stream, own - 1);
  }
  if (known.size() == 0) return;
  if (wait.grade != HostWait::Grade::kWaits) return order_.tell(known);
  order_.over(known);
  for (const Clock::Reached& each : known) drop_finished(each.stream);
}

void QueuedWork::pass(const Ticket& ticket, HostWait wait, const Clock* before) {
  const Locked lock(mutex_);
  if (ticket.tells && telling_ != 0) --telling_;
  Stream* const stream = leave(ticket);
  if (stream) {
    if (ticket.tells) --stream->telling;
    ++stream->actions;
    order_.queue(stream->id);
  }
  settle_here(ticket, wait, before, 0);
}

void QueuedWork::follow_launch(const Ticket& ticket, CUgraphExec exec) {
  if (!ticket) return;
  const Locked lock(mutex_);
  order_.wait(ticket.stream, reinterpret_cast<std::uintptr_t>(exec));
}

void QueuedWork::note_launch(const Ticket& ticket, CUgraphExec exec) {
  if (!ticket) return;
  const Locked lock(mutex_);
  order_.record(reinterpret_cast<std::uintptr_t>(exec), ticket.stream);
}

void QueuedWork::hear(const Ticket& ticket) {
  if (!ticket) return;
  const Locked lock(mutex_);
  order_.hear(ticket.stream);
}

void QueuedWork::share(CUevent event) {
  const Locked lock(mutex_);
  shared_events_.insert(reinterpret_cast<std::uintptr_t>(event));
}

}  // namespace cuvmm::shim
