// SPDX-License-Identifier: Apache-2.0
// Which addresses the work uses that is queued to streams. A call that takes memory away asks here
// which work may still need the memory. A journal of bounded size. No I/O, no locks.
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

/// [base, base + size). Size 0: a pointer; how far the memory behind it is used is not known.
struct UsedRange {
  Address base = 0;
  Size size = 0;
  Evidence evidence = Evidence::kByType;
  std::uint32_t node = 0;  ///< for a graph: the node that uses the range
};

/// A word that a kernel receives and that may be an address, together with its evidence. Both fit
/// into 64 bits, because no device address uses the two highest bits.
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

/// The memory that one piece of work uses. Nearly all of it are pointers, so these are stored apart
/// in half the space.
struct UsedMemory {
  std::span<const GivenWord> pointers;
  std::span<const UsedRange> ranges = {};
  // Whether the work may also have received addresses that are not listed here:
  bool given_outside = false;  ///< addresses of memory whose end cuvmm does not check
  bool given_structs = false;  ///< addresses inside of structs whose words cuvmm does not read
  /// All pointers combined by `and` and by `or`, where the caller has computed that; else 0.
  std::uint64_t common_bits = 0, all_bits = 0;

  bool empty() const { return pointers.empty() && ranges.empty(); }
  std::size_t size() const { return pointers.size() + ranges.size(); }
  /// `i` is below size().
  UsedRange operator[](std::size_t i) const {
    if (i >= pointers.size()) return ranges[i - pointers.size()];
    return {pointers[i].address(), 0, pointers[i].evidence()};
  }
};

/// A piece of work that uses memory.
struct Use {
  Position position = 0;                  ///< on its stream
  Origin origin;                          ///< the call that queued the work
  const char* what = "";                  ///< "kernel", "copy", ...; lives for ever
  const std::string* function = nullptr;  ///< for a kernel, null unknown; lives for ever
  std::uint64_t action = 0;               ///< the number of the work among its stream's actions
  std::uint64_t event = 0;                ///< an event that is recorded behind the work, 0 none
  /// Whether the place of the work among the other work of its stream is known, because no two
  /// threads queued at once.
  bool sure = true;
  /// A call of the host may wait for this work, so that the host learns of its end at once. cuvmm
  /// records no event of its own behind such work, because the event would come later.
  bool waited = false;
  /// A copy or a fill that writes to page-locked memory: the host may see there that it is over.
  bool host_may_look = false;
  bool given_outside = false, given_structs = false;  ///< as in UsedMemory
};

/// The memory in front of an address where other memory begins. A kernel that receives this address
/// may mean the end of the memory in front, or the beginning of the memory there.
struct MemoryBefore {
  Address from = 0;   ///< where that memory begins, or its reservation; 0: no memory is in front
  bool ends = false;  ///< it is known to reach the address; false: only its reservation does
};

/// The memory that a caller asks about: [base, base + size). A kernel that receives `base` and an
/// address of the memory in front may mean the end of the memory in front.
struct AskedMemory {
  Address base = 0;
  Size size = 0;
  MemoryBefore before = {};
  /// Since this call, no memory begins where [base, base + size) ends, and none can. Work of later
  /// calls that receives the end address therefore receives this memory. kNever: the end address
  /// may mean memory that begins there.
  std::uint64_t end_since = kNever;
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  /// Whether `range` may be the end of the memory in front.
  bool may_be_end(const UsedRange& range) const {
    return range.size == 0 && range.base == base && before.from != 0;
  }
  /// Whether `range` is the end of the asked memory itself.
  bool is_end(const UsedRange& range) const { return range.size == 0 && range.base - base == size; }
};

class Uses {
 public:
  /// Ranges that several uses share: the ranges of a graph.
  using Shared = std::shared_ptr<const std::vector<UsedRange>>;
  /// Most uses of one stream. With more uses, or more ranges, the oldest use is dropped.
  static constexpr std::size_t kMostUses = 4096;
  static constexpr std::size_t kMostRanges = 32768;  ///< and most pointers

  /// Adds a use behind all other uses of the stream. Ranges beyond kMostRanges are left out. Calls
  /// dropped(use) for each use that is dropped to make space. Returns the stored use, which the
  /// caller may complete; the reference is valid until the next call.
  template <class Dropped>
  [[gnu::hot]] Use& add(StreamId stream, const Use& use, const UsedMemory& memory,
                        Dropped&& dropped);
  template <class Dropped>
  Use& add(StreamId stream, const Use& use, Shared ranges, Dropped&& dropped);

  /// Drops the oldest uses of the stream as long as over(use) is true of them.
  template <class Over>
  void drop_while(StreamId stream, Over&& over);
  /// Drops all uses of a stream, and calls dropped(use) for each.
  template <class Dropped>
  void forget(StreamId stream, Dropped&& dropped) {
    drop_while(stream, [&](const Use& use) { return dropped(use), true; });
    logs_.erase(stream);
  }
  void clear() { logs_.clear(); }

  /// Calls visit(stream, use, range) for each use of the memory. `range` is the use's range there
  /// with the best evidence.
  template <class Visit>
  void find(const AskedMemory& memory, Visit&& visit) const;
  /// The use with this number on the stream, or null.
  const Use* at(StreamId stream, Position position) const;
  bool empty() const;

 private:
  /// Which of the log's pointers, or ranges, belong to one use.
  struct Part {
    std::uint64_t first = 0;  ///< counted from the first that the log ever had
    std::uint32_t count = 0;
  };
  template <class T>
  struct Elements {
    Ring<T> ring;
    std::uint64_t removed = 0;  ///< how many elements were dropped

    [[gnu::hot]] Part append(std::span<const T> more) {
      const Part part{removed + ring.size(), static_cast<std::uint32_t>(more.size())};
      if (!more.empty()) ring.append(more);
      return part;
    }
    void drop(const Part& part) {
      if (part.count == 0) return;
      ring.pop_front(part.count);
      removed += part.count;
    }
    const T& at(const Part& part, std::uint32_t i) const { return ring[part.first - removed + i]; }
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
    // Lowest and highest address used since the log was empty. With pointers they are bounds, which
    // may lie further apart.
    Address low = ~Address{0};
    Address last = 0;

    [[gnu::hot]] void widen(const UsedMemory& more);
    [[gnu::hot]] bool has_room(const UsedMemory& more) const;
    void drop_first();
    std::optional<UsedRange> find(const Entry& entry, const AskedMemory& memory) const;
    /// Whether the use receives the end address of the memory, and so means that memory.
    static bool means_by_end(const Entry& entry, const UsedRange& range, const AskedMemory& memory);
    /// Whether visit(range) is true for some range of the use.
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
  // `and` and `or` of all pointers give bounds that may be wider than minimum and maximum. They are
  // used because they work on two words at a time, which was faster on every processor that we
  // measured.
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
    // Written as a difference, because memory may end at the highest address.
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
