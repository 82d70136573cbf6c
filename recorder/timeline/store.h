// SPDX-License-Identifier: Apache-2.0
// The file of a timeline, and the count of the events in it. One thread at a time uses a store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "recorder/new_file.h"
#include "recorder/timeline/format.h"

namespace cuvmm::timeline {

/// The Writer (recorder/timeline/writer.h) writes the events into the store's places. due() is the
/// number of the next event at which the Writer must call tend().
class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  ~Store() { close(); }

  /// Makes the file. Returns an errno, or 0; EEXIST where the path exists. The first event is due
  /// then.
  int open(const std::string& path);
  /// open() with a new name in the folder. False where the file cannot be made.
  bool open_in(const std::string& folder) noexcept;
  bool is_open() const noexcept { return image_ != nullptr; }
  void close() noexcept;

  Image* image() const noexcept { return image_; }
  /// The place of event number `n`, from 0. Events before due() have pages.
  Event* place(std::uint64_t n) const noexcept { return image_->events + place_of(n); }
  std::uint64_t due() const noexcept { return due_; }

  /// Must be called when due() events are written. Counts them and makes space for more. False: the
  /// disk is full, and the store has closed the file.
  bool tend() noexcept;
  /// Counts the events up to number `events`.
  void count_to(std::uint64_t events) noexcept;
  /// count_to(), without the events of `call`, which the driver refused. They must be among the
  /// last events.
  void take_back(std::uint64_t events, std::uint64_t call) noexcept;
  /// count_to(), and writes the time and the sums, so that readers can convert ticks.
  void finish(std::uint64_t events) noexcept;
  bool finished() const noexcept { return finished_; }

 private:
  bool grow(std::size_t place) noexcept;
  void publish() noexcept;
  void add_sample(std::uint64_t ticks, std::uint64_t call) noexcept;

  Image* image_ = nullptr;
  std::uint64_t due_ = 0;
  Count counted_ = {};
  std::uint64_t peak_since_ = 0;  // since the last sample
  recorder::NewFile file_;
  std::size_t backed_ = 0;  // events whose pages the file has
  bool finished_ = false;
};

}  // namespace cuvmm::timeline
