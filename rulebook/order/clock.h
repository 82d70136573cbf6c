// SPDX-License-Identifier: Apache-2.0
// How far each stream has come, as a host thread or another stream that waited for it knows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace cuvmm {

/// The number of a stream in the order of work. A driver reuses handles; a StreamId is never
/// reused.
using StreamId = std::uint32_t;
/// The number of a piece of work on its stream, from 1 on. 0 stands for the time before all work.
using Position = std::uint64_t;

/// For each stream, the number of its last work that is over before something else starts. A stream
/// that is not listed has no such work. Few streams are listed, so this is a sorted list.
class Clock {
 public:
  struct Reached {
    StreamId stream = 0;
    Position position = 0;
  };

  Position at(StreamId stream) const {
    const auto found = lower(stream);
    return found != reached_.end() && found->stream == stream ? found->position : 0;
  }

  void raise(StreamId stream, Position position) {
    if (position == 0) return;
    const auto found = reached_.begin() + (lower(stream) - reached_.begin());
    if (found == reached_.end() || found->stream != stream) {
      reached_.insert(found, {stream, position});
    } else {
      found->position = std::max(found->position, position);
    }
  }

  /// Lowers the number of the stream to `position`, if it is greater.
  void cap(StreamId stream, Position position) {
    const auto found = reached_.begin() + (lower(stream) - reached_.begin());
    if (found == reached_.end() || found->stream != stream) return;
    found->position = std::min(found->position, position);
    if (found->position == 0) reached_.erase(found);
  }

  void join(const Clock& other) {
    for (const Reached& each : other.reached_) raise(each.stream, each.position);
  }

  /// Removes each stream with its position for which has(reached) is true.
  template <class Has>
  void forget_if(const Has& has) {
    std::erase_if(reached_, has);
  }

  auto begin() const { return reached_.begin(); }
  auto end() const { return reached_.end(); }
  std::size_t size() const { return reached_.size(); }

 private:
  std::vector<Reached>::const_iterator lower(StreamId stream) const {
    return std::lower_bound(reached_.begin(), reached_.end(), stream,
                            [](const Reached& each, StreamId id) { return each.stream < id; });
  }

  std::vector<Reached> reached_;
};

}  // namespace cuvmm
