// SPDX-License-Identifier: Apache-2.0
// Which addresses the work uses that was queued to streams, so that a call which takes memory away
// can ask who may still need it. A journal of bounded size. No I/O, no locks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rulebook/base/evidence.h"
#include "rulebook/objects/objects.h"
#include "rulebook/order/clock.h"
#include "rulebook/order/ring.h"
#include "rulebook/order/stream_map.h"

namespace cuvmm {

/// [base, base + size); size 0: a pointer, whose extent is not known.
struct UsedRange {
  Address base = 0;
  Size size = 0;
  Evidence evidence = Evidence::kByType;
  std::uint32_t node = 0;  ///< of a graph: which of its nodes uses it
};

/// A word that a kernel is given and that may be an address, with its evidence, in one word: no
/// device address has the two highest bits.
class GivenWord {
 public:
  GivenWord() = default;
  GivenWord(Address address, Evidence evidence) : bits_(address | bits_of(evidence)) {}

  Address address() const { return bits_ & kAddress; }
  Evidence evidence() const { return static_cast<Evidence>(bits_ >> kShift); }
  std::uint64_t bits() const { return bits_; }

  static constexpr unsigned kShift = 62;
  static constexpr std::uint64_t kAddress = (std::uint64_t{1} << kShift) - 1;
  static constexpr std::uint64_t bits_of(Evidence evidence) {
    return std::uint64_t{static_cast<std::uint8_t>(evidence)} << kShift;
  }

 private:
  std::uint64_t bits_ = 0;
};

/// What one piece of work uses. Most of it are pointers, which are kept in half the room.
struct UsedMemory {
  std::span<const GivenWord> pointers;
  std::span<const UsedRange> ranges = {};
  // The work may have been given addresses that are not among these:
  bool given_outside = false;  ///< of memory that does not matter
  bool given_structs = false;  ///< in words that nobody looks at
  /// The bits of all pointers by `and` and by `or`, where somebody knows them; else 0.
  std::uint64_t common_bits = 0, all_bits = 0;

  bool empty() const { return pointers.empty() && ranges.empty(); }
  std::size_t size() const { return pointers.size() + ranges.size(); }
  /// Below size().
  UsedRange operator[](std::size_t i) const {
    if (i >= pointers.size()) return ranges[i - pointers.size()];
    return {pointers[i].address(), 0, pointers[i].evidence()};
  }
};

/// A piece of work that uses memory.
struct Use {
  Position position = 0;                  ///< on its stream
  Origin origin;                          ///< the call that queued it
  const char* what = "";                  ///< "kernel", "copy", ...; lives for ever
  const std::string* function = nullptr;  ///< of a kernel, null unknown; lives for ever
  std::uint64_t action = 0;               ///< which of its stream's actions it was
  std::uint64_t event = 0;                ///< recorded behind it, 0 none
  /// Whether its place among the other work of its stream is known: no two threads queued at once.
  bool sure = true;
  /// The host may know that it is over as soon as it is: an event behind it may be late, and says
  /// nothing.
  bool waited = false;
  bool given_outside = false, given_structs = false;  ///< as UsedMemory has them
};

/// Memory that ends where other memory begins: an address may mean the end of the one or the
/// beginning of the other.
struct MemoryBefore {
  Address from = 0;   ///< where it begins, or its reservation; 0: there is none
  bool ends = false;  ///< it is known to reach as far as that; else only its reservation does
};

/// Memory that is asked for: [base, base + size). A kernel that is given an address of what lies
/// before it, and `base`, may have been given the end of that.
struct AskedMemory {
  Address base = 0;
  Size size = 0;
  MemoryBefore before = {};
  /// The call since which no memory begins where this ends, nor may: work of later calls that is
  /// given the end is given this memory. kNever: it may be given what lies behind.
  std::uint64_t end_since = kNever;
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  /// Whether this may be the end of what lies before.
  bool may_be_end(const UsedRange& range) const {
    return range.size == 0 && range.base == base && before.from != 0;
  }
  /// Whether this is the end of the memory itself.
  bool is_end(const UsedRange& range) const { return range.size == 0 && range.base - base == size; }
};

class Uses {
 public:
  /// Ranges that several uses share: those of a graph.
  using Shared = std::shared_ptr<const std::vector<UsedRange>>;
  /// Of one stream; more of either, and the oldest use is dropped.
  static constexpr std::size_t kMostUses = 4096;
  static constexpr std::size_t kMostRanges = 32768;  ///< and as many pointers

  /// Behind all other uses of that stream. Of more than kMostRanges the rest is left out.
  /// `dropped(use)` for one that makes room. Gives the use as it is kept, until the next call: its
  /// caller may complete it.
  template <class Dropped>
  [[gnu::hot]] Use& add(StreamId stream, const Use& use, const UsedMemory& memory,
                        Dropped&& dropped);
  template <class Dropped>
  Use& add(StreamId stream, const Use& use, Shared ranges, Dropped&& dropped);

  /// Drops what is over: `over(use)` says so; the order of a stream is kept.
  template <class Over>
  void drop_while(StreamId stream, Over&& over);
  /// Drops all of a stream; `dropped(use)` for each.
  template <class Dropped>
  void forget(StreamId stream, Dropped&& dropped) {
    drop_while(stream, [&](const Use& use) { return dropped(use), true; });
    logs_.erase(stream);
  }
  void clear() { logs_.clear(); }

  /// visit(stream, use, range) for each use of the memory, with the surest of its ranges there.
  template <class Visit>
  void find(const AskedMemory& memory, Visit&& visit) const;
  /// The use at this place, or null.
  const Use* at(StreamId stream, Position position) const;
  bool empty() const;

 private:
  /// Those of one use among those of all.
  struct Part {
    std::uint64_t first = 0;  ///< counted since the log began
    std::uint32_t count = 0;
  };
  template <class T>
  struct Elements {
    Ring<T> ring;
    std::uint64_t gone = 0;  ///< that were dropped

    [[gnu::hot]] Part append(std::span<const T> more) {
      const Part part{gone + ring.size(), static_cast<std::uint32_t>(more.size())};
      if (!more.empty()) ring.append(more);
      return part;
    }
    void drop(const Part& part) {
      if (part.count == 0) return;
      ring.pop_front(part.count);
      gone += part.count;
    }
    const T& at(const Part& part, std::uint32_t i) const { return ring[part.first - gone + i]; }
  };
  struct Entry {
    Use use;
    Part pointers;
    Part ranges;
    Shared shared;
  };
  struct Log {
    Ring<Entry> entries;
    Elements<GivenWord> pointers;
    Elements<UsedRange> ranges;
    // Around all that was used since the log was empty; further out where pointers were.
    Address low = ~Address{0};
    Address last = 0;

    [[gnu::hot]] void widen(const UsedMemory& more);
    [[gnu::hot]] bool has_room(const UsedMemory& more) const;
    void drop_first();
    std::optional<UsedRange> find(const Entry& entry, const AskedMemory& memory) const;
    /// Whether it is given the end of the memory, and so that memory.
    static bool means_by_end(const Entry& entry, const UsedRange& range, const AskedMemory& memory);
    /// Whether visit(range) is true of one of its ranges.
    template <class Visit>
    bool any_range(const Entry& entry, Visit&& visit) const;
  };
  static bool meets(const UsedRange& range, const AskedMemory& memory) {
    return range.base >= memory.base ? range.base - memory.base < memory.size
                                     : range.size != 0 && memory.base - range.base < range.size;
  }

  StreamMap<Log> logs_;
};

inline void Uses::Log::widen(const UsedMemory& more) {
  const bool first = entries.empty();
  Address lowest = first ? ~Address{0} : low;
  Address highest = first ? 0 : last;
  // Two words at a time: no processor of ours finds their lowest and highest as fast as these,
  // which are not further inside.
  Address common = more.common_bits, any = more.all_bits;
  if (any == 0) {
    common = ~Address{0};
    for (const GivenWord pointer : more.pointers) {
      common &= pointer.bits();
      any |= pointer.bits();
    }
  }
  lowest = std::min(lowest, common & GivenWord::kAddress);
  highest = std::max(highest, any & GivenWord::kAddress);
  for (const UsedRange& range : more.ranges) {
    lowest = std::min(lowest, range.base);
    highest = std::max(highest, range.base + (range.size == 0 ? 0 : range.size - 1));
  }
  low = lowest;
  last = highest;
}

inline bool Uses::Log::has_room(const UsedMemory& more) const {
  return entries.size() < kMostUses && pointers.ring.size() + more.pointers.size() <= kMostRanges &&
         ranges.ring.size() + more.ranges.size() <= kMostRanges;
}

template <class Dropped>
Use& Uses::add(StreamId stream, const Use& use, const UsedMemory& memory, Dropped&& dropped) {
  if (memory.pointers.size() > kMostRanges || memory.ranges.size() > kMostRanges) [[unlikely]] {
    UsedMemory less = memory;
    less.pointers = memory.pointers.first(std::min(memory.pointers.size(), kMostRanges));
    less.ranges = memory.ranges.first(std::min(memory.ranges.size(), kMostRanges));
    return add(stream, use, less, dropped);
  }
  Log& log = logs_[stream];
  while (!log.has_room(memory)) {
    dropped(log.entries.front().use);
    log.drop_first();
  }
  log.widen(memory);
  Entry& entry = log.entries.push_back();
  entry.use = use;
  entry.pointers = log.pointers.append(memory.pointers);
  entry.ranges = log.ranges.append(memory.ranges);
  return entry.use;
}

template <class Dropped>
Use& Uses::add(StreamId stream, const Use& use, Shared ranges, Dropped&& dropped) {
  Log& log = logs_[stream];
  while (log.entries.size() >= kMostUses) {
    dropped(log.entries.front().use);
    log.drop_first();
  }
  log.widen({.pointers = {}, .ranges = *ranges});
  Entry& entry = log.entries.push_back();
  entry.use = use;
  entry.pointers = entry.ranges = {};
  entry.shared = std::move(ranges);
  return entry.use;
}

template <class Over>
void Uses::drop_while(StreamId stream, Over&& over) {
  Log* const found = logs_.find(stream);
  if (!found) return;
  Log& log = *found;
  while (!log.entries.empty() && over(log.entries.front().use)) log.drop_first();
}

template <class Visit>
void Uses::find(const AskedMemory& memory, Visit&& visit) const {
  if (memory.size == 0) return;
  for (const auto& [stream, log] : logs_) {
    // (Memory may end where addresses do.)
    const bool near =
        memory.base <= log.last && (log.low <= memory.base || log.low - memory.base <= memory.size);
    if (!near) continue;
    for (std::size_t i = 0; i < log.entries.size(); ++i) {
      const Entry& entry = log.entries[i];
      const std::optional<UsedRange> range = log.find(entry, memory);
      if (range) visit(stream, entry.use, *range);
    }
  }
}

}  // namespace cuvmm
