// SPDX-License-Identifier: Apache-2.0
// Memory of pools begins where its allocation stands in a stream: who uses it without waiting.
#include "api/posix/cancel_off.h"
#include "shim/work/work_room.h"

namespace cuvmm::shim {

void WorkRoom::allocate(const Ticket& ticket, const Watched& born) {
  if (!ticket) return;
  const Locked lock(mutex_);
  Stream* const stream = leave(ticket);
  if (!stream) return;
  ++stream->actions;
  if (births_.size() >= kMostBirths) {
    std::erase_if(births_, [&](const auto& each) CUVMM_UNCHECKED {
      return order_.finished(each.second.stream, each.second.position);
    });
    if (births_.size() >= kMostBirths) births_.clear();
  }
  const UsedRange& memory = born.memory;
  births_[memory.base] = {memory.size, stream->id, order_.queue(stream->id), born.since};
  allocates_.store(true, std::memory_order_relaxed);
  pending_.store(true, std::memory_order_relaxed);
}

StreamId WorkRoom::unawaited_birth(const Ticket& ticket, Address address) {
  auto found = births_.upper_bound(address);
  if (found == births_.begin()) return 0;
  const auto& [base, birth] = *--found;
  if (address - base >= birth.size) return 0;
  if (order_.finished(birth.stream, birth.position)) return births_.erase(found), 0;
  if (told(birth.stream, birth.position) || order_.hears(ticket.stream)) return 0;
  return order_.comes_before(birth.stream, birth.position, ticket.stream) ? 0 : birth.stream;
}

std::optional<WorkRoom::Early> WorkRoom::comes_early(const Ticket& ticket, const UsedMemory& memory,
                                                     std::size_t first) {
  if (!ticket || !allocates()) return {};
  const CancelOff no_cancel;
  for (std::size_t i = first; i < memory.size(); ++i) {
    Asked asked;
    {
      const Locked lock(mutex_);
      StreamId birth = 0;
      for (; i < memory.size(); ++i) {
        if (memory[i].evidence == Evidence::kWord) continue;
        birth = unawaited_birth(ticket, memory[i].base);
        if (birth != 0) break;
      }
      if (birth == 0) return {};
      asked = begin_to_ask(birth);
    }
    ask(asked);
    const Locked lock(mutex_);
    end_to_ask(asked);
    // What happens to be over goes well this time; the next one may not.
    const bool found = asked.answer == CUDA_ERROR_NOT_READY || options_.unordered;
    if (found) return Early{memory[i].base, asked.key.handle, i};
    if (asked.answer == CUDA_SUCCESS) lucky_.fetch_add(1, std::memory_order_relaxed);
  }
  return {};
}

std::uint64_t WorkRoom::stream_of(const Ticket& ticket) {
  const Locked lock(mutex_);
  const Stream* const stream = streams_.at(ticket.stream);
  return stream ? stream->key.handle : 0;
}

}  // namespace cuvmm::shim
