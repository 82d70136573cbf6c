// SPDX-License-Identifier: Apache-2.0
// How far each stream has come, in the view of somebody who waited for it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace cuvmm {

/// A stream as the order of work knows it. Handles are given out again; these are not.
using StreamId = std::uint32_t;
/// The number of a piece of work on its stream, from 1 on. 0 is before all of them.
using Position = std::uint64_t;

/// For each stream the last piece of its work that is over before something starts. A stream that
/// is not named has none. Few streams are: a sorted list.
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

  /// Leaves out what is behind `position`.
  void cap(StreamId stream, Position position) {
    const auto found = reached_.begin() + (lower(stream) - reached_.begin());
    if (found == reached_.end() || found->stream != stream) return;
    found->position = std::min(found->position, position);
    if (found->position == 0) reached_.erase(found);
  }

  void join(const Clock& other) {
    for (const Reached& each : other.reached_) raise(each.stream, each.position);
  }

  /// Takes out what somebody else's clock has as well.
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
