// SPDX-License-Identifier: Apache-2.0
// Which addresses the work uses that was queued to streams, so that a call which takes memory away
// can ask who may still need it. A journal of bounded size. No I/O, no locks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rulebook/model/objects.h"
#include "rulebook/order/clock.h"
#include "rulebook/order/ring.h"
#include "rulebook/order/stream_map.h"

namespace cuvmm {

/// [base, base + size); size 0: a pointer, whose extent is not known.
struct UsedRange {
  Address base = 0;
  Size size = 0;
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
};

class Uses {
 public:
  /// Ranges that several uses share: those of a graph.
  using Shared = std::shared_ptr<const std::vector<UsedRange>>;
  /// Of one stream; more of either, and the oldest use is dropped.
  static constexpr std::size_t kMostUses = 4096;
  static constexpr std::size_t kMostRanges = 32768;

  /// Behind all other uses of that stream. Of more than kMostRanges the rest is left out.
  /// `dropped(use)` for one that makes room. Gives the use as it is kept, until the next call: its
  /// caller may complete it.
  template <class Dropped>
  [[gnu::hot]] Use& add(StreamId stream, const Use& use, std::span<const UsedRange> ranges,
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

  /// visit(stream, use, range) for each use of the range, with the first of its ranges there.
  template <class Visit>
  void find(Address base, Size size, Visit&& visit) const;
  /// The use at this place, or null.
  const Use* at(StreamId stream, Position position) const;
  bool empty() const;

 private:
  struct Entry {
    Use use;
    std::uint64_t first = 0;  ///< of its ranges, counted since the log began
    std::uint32_t count = 0;
    Shared shared;
  };
  struct Log {
    Ring<Entry> entries;
    Ring<UsedRange> ranges;
    std::uint64_t gone = 0;  ///< ranges that were dropped
    // Around all ranges since the log was empty.
    Address low = ~Address{0};
    Address last = 0;

    [[gnu::hot]] void widen(std::span<const UsedRange> more);
    void drop_first();
    const UsedRange* find(const Entry& entry, Address base, Size size) const;
  };
  static bool meets(const UsedRange& range, Address base, Size size) {
    return range.base >= base ? range.base - base < size
                              : range.size != 0 && base - range.base < range.size;
  }

  StreamMap<Log> logs_;
};

inline void Uses::Log::widen(std::span<const UsedRange> more) {
  const bool first = entries.empty();
  Address lowest = first ? ~Address{0} : low;
  Address highest = first ? 0 : last;
  for (const UsedRange& range : more) {
    lowest = std::min(lowest, range.base);
    highest = std::max(highest, range.base + (range.size == 0 ? 0 : range.size - 1));
  }
  low = lowest;
  last = highest;
}

template <class Dropped>
Use& Uses::add(StreamId stream, const Use& use, std::span<const UsedRange> ranges,
               Dropped&& dropped) {
  Log& log = logs_[stream];
  if (ranges.size() > kMostRanges) ranges = ranges.first(kMostRanges);
  while (log.entries.size() >= kMostUses || log.ranges.size() + ranges.size() > kMostRanges) {
    dropped(log.entries.front().use);
    log.drop_first();
  }
  log.widen(ranges);
  Entry& entry = log.entries.push_back();
  entry.use = use;
  entry.first = log.gone + log.ranges.size();
  entry.count = static_cast<std::uint32_t>(ranges.size());
  log.ranges.append(ranges);
  return entry.use;
}

template <class Dropped>
Use& Uses::add(StreamId stream, const Use& use, Shared ranges, Dropped&& dropped) {
  Log& log = logs_[stream];
  while (log.entries.size() >= kMostUses) {
    dropped(log.entries.front().use);
    log.drop_first();
  }
  log.widen(*ranges);
  Entry& entry = log.entries.push_back();
  entry.use = use;
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
void Uses::find(Address base, Size size, Visit&& visit) const {
  if (size == 0) return;
  for (const auto& [stream, log] : logs_) {
    const bool near = base <= log.last && log.low <= base + (size - 1);
    if (!near) continue;
    for (std::size_t i = 0; i < log.entries.size(); ++i) {
      const Entry& entry = log.entries[i];
      const UsedRange* const range = log.find(entry, base, size);
      if (range) visit(stream, entry.use, *range);
    }
  }
}

}  // namespace cuvmm
