// SPDX-License-Identifier: Apache-2.0
// What calls let the host know that are no synchronisation: rulebook/order/host_wait.h.
#include <algorithm>

#include "shim/queued_work/work_room.h"

namespace cuvmm::shim {

Clock WorkRoom::before_next(const Ticket& ticket) {
  if (!pending_.load(std::memory_order_relaxed)) return {};
  const Locked lock(mutex_);
  return order_.before_next(ticket.stream);
}

Clock WorkRoom::everything() {
  if (!pending_.load(std::memory_order_relaxed)) return {};
  const Locked lock(mutex_);
  return order_.everything();
}

void WorkRoom::tell(const Clock& clock) {
  if (clock.size() == 0) return;
  const Locked lock(mutex_);
  order_.tell(clock);
}

void WorkRoom::tell_beside(const Ticket& ticket) {
  const Locked lock(mutex_);
  order_.tell_beside(ticket.stream);
}

void WorkRoom::begin_to_tell(Ticket& ticket) {
  const Locked lock(mutex_);
  Stream* const stream = streams_.at(ticket.stream);
  if (!stream) return;
  ++stream->telling;
  ++telling_;
  ticket.tells = true;
}

void WorkRoom::end_to_tell(const Ticket& ticket) {
  const Locked lock(mutex_);
  if (telling_ != 0) --telling_;
  Stream* const stream = streams_.at(ticket.stream);
  if (stream) --stream->telling;
}

bool WorkRoom::told(StreamId stream, Position work) {
  if (order_.told(stream, work)) return true;
  if (telling_ == 0) [[likely]]
    return false;
  return std::any_of(streams_.begin(), streams_.end(), [&](const auto& each) CUVMM_UNCHECKED {
    return each.second.telling != 0 && order_.comes_before(stream, work, each.first);
  });
}

void WorkRoom::settle(const Ticket& ticket, HostWait wait, const Clock* before, Position own) {
  if (wait == HostWait{} || !pending_.load(std::memory_order_relaxed)) return;
  Clock known;
  {
    const Locked lock(mutex_);
    known = before ? *before : order_.own(ticket.stream);
  }
  if (wait.what == HostWait::For::kItself) {
    known.raise(ticket.stream, own);
  } else if (own != 0) {
    known.cap(ticket.stream, own - 1);
  }
  wait.grade == HostWait::Grade::kWaits ? over(known) : tell(known);
}

void WorkRoom::follow_launch(const Ticket& ticket, CUgraphExec exec) {
  if (!ticket) return;
  const Locked lock(mutex_);
  order_.wait(ticket.stream, reinterpret_cast<std::uintptr_t>(exec));
}

void WorkRoom::note_launch(const Ticket& ticket, CUgraphExec exec) {
  if (!ticket) return;
  const Locked lock(mutex_);
  order_.record(reinterpret_cast<std::uintptr_t>(exec), ticket.stream);
}

void WorkRoom::hear(const Ticket& ticket) {
  if (!ticket) return;
  const Locked lock(mutex_);
  order_.hear(ticket.stream);
}

void WorkRoom::share(CUevent event) {
  const Locked lock(mutex_);
  shared_events_.insert(reinterpret_cast<std::uintptr_t>(event));
}

bool WorkRoom::watches_pool(std::uint64_t address) {
  if (!pending_.load(std::memory_order_relaxed)) return false;
  const Locked lock(mutex_);
  const auto [first, end] = watched_.equal_range(address);
  return std::any_of(first, end, [](const auto& each) { return each.second.of_pool; });
}

UsedRange WorkRoom::watched_before(Address end) {
  const Locked lock(mutex_);
  if (!left_behind_) return {};
  const auto found = std::find_if(watched_.begin(), watched_.end(), [&](const auto& each) {
    return each.second.memory.base + each.second.memory.size == end;
  });
  return found != watched_.end() ? found->second.memory : UsedRange{};
}

bool WorkRoom::begins_behind(Address address, Size distance) {
  const Locked lock(mutex_);
  return left_behind_ && std::any_of(watched_.begin(), watched_.end(), [&](const auto& each) {
           return each.second.memory.base - address < distance;
         });
}

}  // namespace cuvmm::shim
