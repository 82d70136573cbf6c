// SPDX-License-Identifier: Apache-2.0
// Keeps what happened to a process's memory in a timeline's file. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "recorder/timeline/format.h"

namespace cuvmm::timeline {

/// It is small: a call that writes an event has it in a cache line that it needs anyway.
class Writer {
 public:
  Writer() noexcept;
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer();

  /// From the first event on there is a file in this folder; "": none.
  void choose(const std::string& folder);
  /// Makes the file, which must not be there; errno, or 0.
  int open(const std::string& path);
  bool is_open() const noexcept;
  /// Whether events are kept.
  bool on() const noexcept { return next_ != nullptr; }

  /// What an event says, but for its kind.
  struct Words {
    std::uint64_t key, size, more, other;
  };
  /// Adds an event, of a call that began at `ticks`. Inline and short, because the caches are cold
  /// where it is needed: to fetch one line of code takes as long as to execute ten instructions.
  [[gnu::always_inline]] inline void add(What what, Object object, int device, const Words& words,
                                         const Origin& by, std::uint64_t ticks) noexcept;
  /// The events of this call do not count: they are among the last ones.
  void undo(std::uint64_t call, std::uint32_t thread, std::uint64_t ticks) noexcept;
  /// How many were added.
  std::uint64_t events() const noexcept;
  /// This call was the last of which an event is kept before some were dropped, and this one the
  /// first after them; false: none was dropped.
  bool gap(std::uint64_t& last_before, std::uint64_t& first_after) const noexcept;
  /// Says what time it is, so that ticks can be read, and what the sums are.
  void finish() noexcept;
  bool finished() const noexcept;

  const Image* image() const noexcept;
  /// Nothing is written any more.
  void leave() noexcept;
  /// In a child of fork: the file stays the parent's, and the next event gets one of its own.
  void restart_in_child() noexcept;

 private:
  struct Rest;
  // Every so many events.
  [[gnu::cold, gnu::noinline]] void milestone() noexcept;
  // The next event lies here until there is a file.
  void wait_for_first() noexcept;
  // Event number `n` is the next one.
  void go_on(std::uint64_t n) noexcept;
  Rest& rest();

  Event* next_ = nullptr;       // null: nothing is kept
  Event* stop_ = nullptr;       // behind it is a milestone
  std::uint64_t round_ = 0;     // as the last word of an event has it
  std::unique_ptr<Rest> rest_;  // null: no file was ever wanted
};

inline void Writer::add(What what, Object object, int device, const Words& words, const Origin& by,
                        std::uint64_t ticks) noexcept {
  Event* const place = next_;
  if (!place) [[unlikely]]
    return;
  // The next one has a cache line of its own, which nobody has looked at yet: it comes while the
  // program does something else.
  __builtin_prefetch(place + 1, 1);
  place->ticks = ticks;
  place->by = by;
  place->key = words.key;
  place->size = words.size;
  place->more = words.more;
  place->other = words.other;
  // Whoever reads this after the process was killed finds whole events.
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
