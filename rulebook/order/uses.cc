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
  if (entry.shared) {
    for (const UsedRange& range : *entry.shared) {
      if (meets(range, base, size)) return range;
    }
    return {};
  }
  for (std::uint32_t i = 0; i < entry.pointers.count; ++i) {
    const Address pointer = pointers.at(entry.pointers, i);
    if (pointer - base < size) return UsedRange{pointer, 0};
  }
  for (std::uint32_t i = 0; i < entry.ranges.count; ++i) {
    const UsedRange& range = ranges.at(entry.ranges, i);
    if (meets(range, base, size)) return range;
  }
  return {};
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
