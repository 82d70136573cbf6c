// SPDX-License-Identifier: Apache-2.0
// Memory of pools begins at its allocation's position in a stream: finds work that uses the memory
// without waiting for the allocation.
#include "api/posix/cancel_off.h"
#include "shim/queued_work/queued_work.h"

namespace cuvmm::shim {

void QueuedWork::allocate(const Ticket& ticket, const Watched& born) {
  if (!ticket) return;
  const Locked lock(mutex_);
  Stream* const stream = leave(ticket);
  if (!stream) return;
  ++stream->actions;
  note_birth({born.memory.size, stream->id, order_.queue(stream->id), born.since, false},
             born.memory.base);
}

void QueuedWork::leave_behind(const Ticket& ticket, const Watched& memory) {
  if (watched_.freed_elsewhere(memory.memory.base)) return;
  watch(memory.memory.base, memory);
  watched_.note_left_behind();
  const Locked lock(mutex_);
  const Position launch = order_.own(ticket.stream).at(ticket.stream);
  note_birth({memory.memory.size, ticket.stream, launch, memory.since, true}, memory.memory.base);
}

void QueuedWork::free_elsewhere(Address base) {
  if (!watched_.free_elsewhere(base)) return;
  const Locked lock(mutex_);
  births_.erase(base);
}

void QueuedWork::note_birth(const Birth& birth, Address base) {
  if (births_.size() >= kMostBirths) {
    std::erase_if(births_, [&](const auto& each) CUVMM_UNCHECKED {
      return order_.finished(each.second.stream, each.second.position);
    });
    if (births_.size() >= kMostBirths) births_.clear();
  }
  births_[base] = birth;
  allocates_.store(true, std::memory_order_relaxed);
  pending_.store(true, std::memory_order_relaxed);
}

const QueuedWork::Birth* QueuedWork::unawaited_birth(const Ticket& ticket, Address address) {
  auto found = births_.upper_bound(address);
  if (found == births_.begin()) return nullptr;
  const auto& [base, birth] = *--found;
  if (address - base >= birth.size) return nullptr;
  if (order_.finished(birth.stream, birth.position)) return births_.erase(found), nullptr;
  if (reported(birth.stream, birth.position) || order_.hears(ticket.stream)) return nullptr;
  return order_.comes_before(birth.stream, birth.position, ticket.stream) ? nullptr : &birth;
}

std::optional<QueuedWork::Early> QueuedWork::comes_early(const Ticket& ticket,
                                                         const UsedMemory& memory,
                                                         std::size_t first) {
  if (!ticket || !allocates()) return {};
  const CancelOff no_cancel;
  for (std::size_t i = first; i < memory.size(); ++i) {
    Asked asked;
    bool of_graph = false;
    {
      const Locked lock(mutex_);
      const Birth* birth = nullptr;
      for (; i < memory.size(); ++i) {
        if (memory[i].evidence == Evidence::kWord) continue;
        birth = unawaited_birth(ticket, memory[i].base);
        if (birth) break;
      }
      if (!birth) return {};
      of_graph = birth->of_graph;
      asked = begin_to_ask(birth->stream);
    }
    ask(asked);
    const Locked lock(mutex_);
    end_to_ask(asked);
    // An allocation that happens to be over makes this use right; in the next run the use may come
    // too early.
    const bool found = asked.answer == CUDA_ERROR_NOT_READY || options_.unordered;
    if (found) return Early{memory[i].base, asked.key.handle, i, of_graph};
    if (asked.answer == CUDA_SUCCESS) unawaited_.fetch_add(1, std::memory_order_relaxed);
  }
  return {};
}

std::uint64_t QueuedWork::stream_of(const Ticket& ticket) {
  const Locked lock(mutex_);
  const Stream* const stream = streams_.at(ticket.stream);
  return stream ? stream->key.handle : 0;
}

}  // namespace cuvmm::shim
