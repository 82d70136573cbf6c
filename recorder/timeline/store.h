// SPDX-License-Identifier: Apache-2.0
// The file of a timeline, and what is known of the events in it. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "recorder/new_file.h"
#include "recorder/timeline/format.h"

namespace cuvmm::timeline {

/// Somebody else writes the events (recorder/timeline/writer.h). "Due" is the next number of them
/// at which something is to be done here.
class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  ~Store() { close(); }

  /// Makes the file, which must not be there; errno, or 0. One event is due.
  int open(const std::string& path);
  /// The same, with a new name in a folder. False where it cannot be.
  bool open_in(const std::string& folder) noexcept;
  bool is_open() const noexcept { return image_ != nullptr; }
  void close() noexcept;

  Image* image() const noexcept { return image_; }
  /// Event number `n` from 0. For those that are due there is room.
  Event* place(std::uint64_t n) const noexcept { return image_->events + place_of(n); }
  std::uint64_t due() const noexcept { return due_; }

  /// As many events as were due are there. False: there is no more room, and the file is closed.
  bool tend() noexcept;
  /// There are so many events: counts them.
  void count_to(std::uint64_t events) noexcept;
  /// The same; the events of this call do not count: they are among the last ones.
  void take_back(std::uint64_t events, std::uint64_t call) noexcept;
  /// The same; says what time it is, so that ticks can be read, and what the sums are.
  void finish(std::uint64_t events) noexcept;
  bool finished() const noexcept { return finished_; }

 private:
  bool grow(std::size_t place) noexcept;
  void publish() noexcept;
  void add_sample(std::uint64_t ticks, std::uint64_t call) noexcept;

  Image* image_ = nullptr;
  std::uint64_t due_ = 0;
  Count counted_ = {};
  std::uint64_t peak_since_ = 0;  // the sample before
  recorder::NewFile file_;
  std::size_t backed_ = 0;  // events whose pages the file has
  bool finished_ = false;
};

}  // namespace cuvmm::timeline
