// SPDX-License-Identifier: Apache-2.0
// Writes the events of a process's memory into a timeline's file. One thread at a time uses a
// writer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "recorder/timeline/format.h"

namespace cuvmm::timeline {

/// The class is small, so that a call that writes an event finds it in a cache line that the call
/// needs anyway.
class Writer {
 public:
  Writer() noexcept;
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer();

  /// The first event makes a file in this folder; "": no file.
  void choose(const std::string& folder);
  /// Makes the file. Returns an errno, or 0; EEXIST where the path exists.
  int open(const std::string& path);
  bool is_open() const noexcept;
  /// Whether add() records events.
  bool on() const noexcept { return next_ != nullptr; }

  /// The words of an event, without its kind.
  struct Words {
    std::uint64_t key, size, more, other;
  };
  /// Adds an event of a call that began at `ticks`. Inline and short, because the caches are cold
  /// at the call: fetching one line of code takes as long as executing ten instructions.
  [[gnu::always_inline]] inline void add(What what, Object object, int device, const Words& words,
                                         const Origin& by, std::uint64_t ticks) noexcept;
  /// Marks the events of a call that the driver refused. They must be among the last events.
  void undo(std::uint64_t call, std::uint32_t thread, std::uint64_t ticks) noexcept;
  /// The number of events that were added.
  std::uint64_t events() const noexcept;
  /// Where events were dropped, sets the last call before them and the first call after them of
  /// which the file has an event. False: no event was dropped.
  bool gap(std::uint64_t& last_before, std::uint64_t& first_after) const noexcept;
  /// Writes the time and the sums, so that readers can convert ticks.
  void finish() noexcept;
  bool finished() const noexcept;

  const Image* image() const noexcept;
  /// Writes nothing from here on.
  void leave() noexcept;
  /// Must be called in a child of fork: the file stays the parent's, and the next event makes a
  /// file for the child.
  void restart_in_child() noexcept;

 private:
  struct Rest;
  // Does the work that is due after many events.
  [[gnu::cold, gnu::noinline]] void milestone() noexcept;
  // Takes the next event into memory until there is a file.
  void wait_for_first() noexcept;
  // Sets the place of event number `n`, which is the next.
  void go_on(std::uint64_t n) noexcept;
  Rest& rest();

  Event* next_ = nullptr;       // null: nothing is recorded
  Event* stop_ = nullptr;       // after this event comes a milestone
  std::uint64_t round_ = 0;     // for the last word of an event
  std::unique_ptr<Rest> rest_;  // null: no file was ever wanted
};

inline void Writer::add(What what, Object object, int device, const Words& words, const Origin& by,
                        std::uint64_t ticks) noexcept {
  Event* const place = next_;
  if (!place) [[unlikely]]
    return;
  // The next event needs a cache line that is not in a cache yet; it arrives while the program runs
  // on.
  __builtin_prefetch(place + 1, 1);
  place->ticks = ticks;
  place->by = by;
  place->key = words.key;
  place->size = words.size;
  place->more = words.more;
  place->other = words.other;
  // Stored last and at once: after the process was killed, a reader takes only whole events.
  using Word [[gnu::may_alias]] = std::uint64_t;
  const std::uint64_t kind = static_cast<std::uint64_t>(what) |
                             static_cast<std::uint64_t>(object) << 8 |
                             std::uint64_t{static_cast<std::uint16_t>(device)} << 16;
  __atomic_store_n(reinterpret_cast<Word*>(&place->what), kind | round_, __ATOMIC_RELEASE);
  next_ = place + 1;
  if (next_ == stop_) [[unlikely]]
    milestone();
}

}  // namespace cuvmm::timeline
