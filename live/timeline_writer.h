// SPDX-License-Identifier: Apache-2.0
// Keeps what happened to a process's memory in a timeline's file. One thread at a time.
#pragma once

#include <cstdint>
#include <string>

#include "live/timeline_format.h"
#include "live/writer.h"
#include "ring/writer.h"

namespace cuvmm::live {

class TimelineWriter {
 public:
  TimelineWriter() = default;
  TimelineWriter(const TimelineWriter&) = delete;
  TimelineWriter& operator=(const TimelineWriter&) = delete;
  ~TimelineWriter() { leave(); }

  /// Makes the file, which must not be there; errno, or 0.
  int open(const std::string& path);
  bool is_open() const noexcept { return image_ != nullptr; }

  /// Adds an event and counts its bytes. `event.ticks` is set here.
  [[gnu::always_inline]] inline void add(const TimelineEvent& event) noexcept;
  /// The events of this call do not count: they are among the last ones.
  void undo(std::uint64_t call, std::uint32_t thread) noexcept;
  /// This call was the last of which an event is kept before some were dropped, and this one the
  /// first after them; false: none was dropped.
  bool gap(std::uint64_t& last_before, std::uint64_t& first_after) const noexcept;
  /// Says what time it is, so that ticks can be read, and what the sums are.
  void finish() noexcept;
  /// Bytes by kind now.
  const TimelineSums& sums() const noexcept { return sums_; }

  const TimelineImage* image() const noexcept { return image_; }
  /// In a child of fork: the file stays the parent's, and nothing is written to it any more.
  void leave() noexcept;

 private:
  // Every so many events: room for the next ones, what time it is, the sums.
  [[gnu::cold, gnu::noinline]] void milestone(std::uint64_t events, std::uint64_t ticks,
                                              std::uint64_t call) noexcept;
  [[gnu::cold, gnu::noinline]] bool grow(std::size_t place) noexcept;
  void count(const TimelineEvent& event, bool back) noexcept;
  [[gnu::noinline]] void new_peak(std::uint64_t ticks, std::uint64_t call) noexcept;
  void add_sample(std::uint64_t ticks, std::uint64_t call) noexcept;
  void note_time() noexcept;

  // What each event needs.
  TimelineEvent* next_ = nullptr;  // null: nothing is kept
  TimelineImage* image_ = nullptr;
  std::uint64_t milestone_ = 0;
  std::uint64_t physical_ = 0, peak_since_ = 0;
  TimelineSums sums_ = {};
  Backing backing_;
  std::size_t backed_ = 0;  // events whose pages the file has
};

inline bool is_physical(TimelineObject object) noexcept {
  return object == TimelineObject::kAllocation || object == TimelineObject::kDevice ||
         object == TimelineObject::kManaged || object == TimelineObject::kPool;
}

inline void TimelineWriter::count(const TimelineEvent& event, bool back) noexcept {
  if (event.what != TimelineWhat::kBegin && event.what != TimelineWhat::kEnd) return;
  const bool more = (event.what == TimelineWhat::kBegin) != back;
  const std::uint64_t change = more ? event.size : 0 - event.size;
  sums_.objects[static_cast<std::size_t>(event.object)] += change;
  if (is_physical(event.object)) physical_ += change;
}

inline void TimelineWriter::add(const TimelineEvent& event) noexcept {
  TimelineEvent* const place = next_;
  if (!place) [[unlikely]]
    return;
  // The next one has a cache line of its own, which nobody has looked at yet: it comes while the
  // program does something else.
  __builtin_prefetch(place + 1, 1);
  const std::uint64_t ticks = ring::now_ticks();
  *place = event;
  place->ticks = ticks;
  next_ = place + 1;
  // Whoever reads this after the process was killed finds whole events.
  const std::uint64_t events = image_->header.events + 1;
  __atomic_store_n(&image_->header.events, events, __ATOMIC_RELEASE);
  count(event, false);
  if (physical_ > peak_since_) new_peak(ticks, event.call);
  if (events == milestone_) [[unlikely]]
    milestone(events, ticks, event.call);
}

}  // namespace cuvmm::live
