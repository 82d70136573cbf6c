// SPDX-License-Identifier: Apache-2.0
#include "rulebook/order/uses.h"

#include <algorithm>

namespace cuvmm {

void Uses::Log::drop_first() {
  Entry& entry = entries.front();
  pointers.drop(entry.pointers);
  ranges.drop(entry.ranges);
  entry.shared.reset();
  entries.pop_front();
}

namespace {

// The range with the best evidence, of those by which one piece of work uses some memory. If two
// have equal evidence, a range that does not begin where the memory begins is better; then a range
// that does not begin where the memory ends.
class Surest {
 public:
  explicit Surest(const AskedMemory& memory) : memory_(memory) {}

  /// Takes the range if it is better. Returns whether no other range can be better.
  bool offer(const UsedRange& range) {
    const unsigned rank = rank_of(range);
    if (!range_ || rank > rank_of(*range_)) range_ = range;
    return rank == kBest;
  }
  const std::optional<UsedRange>& surest_range() const { return range_; }

 private:
  static constexpr unsigned kPlaces = 3;
  static constexpr unsigned kBest = kPlaces * static_cast<unsigned>(Evidence::kByType) + 2;
  unsigned rank_of(const UsedRange& range) const {
    const unsigned place = memory_.may_be_end(range) ? 0 : memory_.is_end(range) ? 1 : 2;
    return kPlaces * static_cast<unsigned>(range.evidence) + place;
  }

  const AskedMemory& memory_;
  std::optional<UsedRange> range_;
};

bool lies_before(Address address, const AskedMemory& memory) {
  return address >= memory.before.from && address < memory.base;
}

}  // namespace

template <class Visit>
bool Uses::Log::any_range(const Entry& entry, Visit&& visit) const {
  if (entry.shared) return std::any_of(entry.shared->begin(), entry.shared->end(), visit);
  for (std::uint32_t i = 0; i < entry.pointers.count; ++i) {
    const GivenWord word = pointers.at(entry.pointers, i);
    if (visit(UsedRange{word.address(), 0, word.evidence()})) return true;
  }
  for (std::uint32_t i = 0; i < entry.ranges.count; ++i) {
    if (visit(ranges.at(entry.ranges, i))) return true;
  }
  return false;
}

// Such a kernel walks backwards from the end. Only a parameter that is a pointer by its type counts
// as an end.
bool Uses::Log::means_by_end(const Entry& entry, const UsedRange& range,
                             const AskedMemory& memory) {
  return range.evidence == Evidence::kByType && memory.is_end(range) &&
         memory.end_since != AskedMemory::kNever && entry.use.origin.call > memory.end_since;
}

std::optional<UsedRange> Uses::Log::find(const Entry& entry, const AskedMemory& memory) const {
  Surest surest(memory);
  any_range(entry, [&](const UsedRange& range) {
    if (!meets(range, memory)) {
      return means_by_end(entry, range, memory) && surest.offer(range);
    }
    const bool ends = memory.may_be_end(range) && any_range(entry, [&](const UsedRange& other) {
                        return other.node == range.node && lies_before(other.base, memory);
                      });
    return !ends && surest.offer(range);
  });
  return surest.surest_range();
}

const Use* Uses::at(StreamId stream, Position position) const {
  const Log* const surest_range = logs_.find(stream);
  if (!surest_range) return nullptr;
  const Ring<Entry>& entries = surest_range->entries;
  // Positions ascend.
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
