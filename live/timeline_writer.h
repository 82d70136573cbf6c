// SPDX-License-Identifier: Apache-2.0
// Keeps what happened to a process's memory in a timeline's file. One thread at a time.
#pragma once

#include <cstdint>
#include <string>

#include "live/timeline_format.h"
#include "live/writer.h"

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
  [[gnu::hot]] void add(TimelineEvent event) noexcept;
  /// The events of this call do not count: they are among the last ones.
  void undo(std::uint64_t call, std::uint32_t thread) noexcept;
  /// This call was the last of which an event is kept before some were dropped, and this one the
  /// first after them; false: none was dropped.
  bool gap(std::uint64_t& last_before, std::uint64_t& first_after) const noexcept;
  /// Says what time it is, so that ticks can be read.
  void note_time() noexcept;

  const TimelineImage* image() const noexcept { return image_; }
  /// In a child of fork: the file stays the parent's, and nothing is written to it any more.
  void leave() noexcept;

 private:
  [[gnu::cold, gnu::noinline]] bool grow(std::size_t place) noexcept;
  void count(const TimelineEvent& event, bool back) noexcept;
  [[gnu::noinline]] void add_sample(std::uint64_t ticks, std::uint64_t call) noexcept;

  TimelineImage* image_ = nullptr;
  Backing backing_;
  std::size_t backed_ = 0;  // events whose pages the file has
  TimelineSums sums_ = {};
  std::uint64_t physical_ = 0, peak_since_ = 0;
  std::uint64_t until_sample_ = 1;
};

}  // namespace cuvmm::live
