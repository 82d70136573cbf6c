// SPDX-License-Identifier: Apache-2.0
#include "rulebook/order/uses.h"

namespace cuvmm {

void Uses::Log::drop_first() {
  const Entry& entry = entries.front();
  pointers.drop(entry.pointers);
  ranges.drop(entry.ranges);
  entries.pop_front();
}

std::optional<UsedRange> Uses::Log::find(const Entry& entry, Address base, Size size) const {
  std::optional<UsedRange> surest;
  const auto offer = [&](const UsedRange& range) {
    if (!surest || range.evidence > surest->evidence) surest = range;
    return surest->evidence == Evidence::kByType;
  };
  if (entry.shared) {
    for (const UsedRange& range : *entry.shared) {
      if (meets(range, base, size) && offer(range)) break;
    }
    return surest;
  }
  for (std::uint32_t i = 0; i < entry.pointers.count; ++i) {
    const GivenWord word = pointers.at(entry.pointers, i);
    if (word.address() - base < size && offer({word.address(), 0, word.evidence()})) return surest;
  }
  for (std::uint32_t i = 0; i < entry.ranges.count; ++i) {
    const UsedRange& range = ranges.at(entry.ranges, i);
    if (meets(range, base, size) && offer(range)) break;
  }
  return surest;
}

const Use* Uses::at(StreamId stream, Position position) const {
  const Log* const found = logs_.find(stream);
  if (!found) return nullptr;
  const Ring<Entry>& entries = found->entries;
  // Positions rise.
  std::size_t low = 0, high = entries.size();
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    (entries[middle].use.position < position ? low : high) =
        entries[middle].use.position < position ? middle + 1 : middle;
  }
  return low < entries.size() && entries[low].use.position == position ? &entries[low].use
                                                                       : nullptr;
}

bool Uses::empty() const {
  for (const auto& [stream, log] : logs_) {
    if (!log.entries.empty()) return false;
  }
  return true;
}

}  // namespace cuvmm
