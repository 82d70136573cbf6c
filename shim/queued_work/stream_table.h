// SPDX-License-Identifier: Apache-2.0
// The streams of the program, as its calls named them. Every user of this table holds the lock of
// QueuedWork.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "rulebook/order/order_state.h"
#include "rulebook/order/stream_map.h"
#include "shim/queued_work/own_events.h"

namespace cuvmm::shim {

/// A handle of the driver as a number.
inline std::uint64_t number_of(const void* handle) {
  return reinterpret_cast<std::uintptr_t>(handle);
}

/// Identifies a stream. A default stream belongs to a context, or to a context and a thread.
struct StreamKey {
  std::uint64_t handle = 0;   ///< 1 and 2 are default streams (CU_STREAM_LEGACY, _PER_THREAD)
  std::uint64_t context = 0;  ///< of a default stream's context
  std::uint32_t thread = 0;   ///< of a thread's default stream

  static constexpr std::uint64_t kLegacy = 1, kPerThread = 2;
  bool is_default() const { return handle <= kPerThread; }
  bool operator==(const StreamKey&) const = default;
};

struct StreamKeyHash {
  std::size_t operator()(const StreamKey& key) const {
    return static_cast<std::size_t>(
        (key.handle ^ key.context * 31 ^ std::uint64_t{key.thread} * 131) * 0x9e3779b97f4a7c15u >>
        7);
  }
};

/// The driver's answers about a stream at the first call on it.
struct LearnedStream {
  bool known = false;
  std::uint64_t context = 0;
  OrderState::Kind kind = OrderState::Kind::kBlocking;
};

struct Stream {
  StreamId id = 0;
  StreamKey key;
  LearnedStream learned;
  std::uint64_t actions = 0;   ///< the number of actions that were queued there, waits for events
                               ///< included
  std::uint64_t overlaps = 0;  ///< how often two threads were inside of calls on the stream at once
  unsigned inside = 0;         ///< the number of threads inside of calls on the stream
  unsigned asking = 0;         ///< the number of threads that ask the driver about the stream,
                               ///< which must not end meanwhile
  unsigned telling = 0;        ///< the number of threads inside of calls by which the host may
                               ///< learn that work is over
  bool destroyed = false;
  OwnEvent last_event = {};  ///< recorded behind all work of a destroyed stream
};

class StreamTable {
 public:
  Stream* find(const StreamKey& key) {
    Recent& recent = recent_[StreamKeyHash()(key) % kRecent];
    if (recent.stream && recent.key == key) [[likely]]
      return recent.stream;
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return nullptr;
    recent = {key, at(found->second)};
    return recent.stream;
  }
  Stream* at(StreamId id) { return streams_.find(id); }
  Stream& add(StreamId id, const StreamKey& key, const LearnedStream& learned) {
    forget_key(key);
    by_key_[key] = id;
    Stream& stream = streams_[id];
    stream.id = id;
    stream.key = key;
    stream.learned = learned;
    return stream;
  }
  /// The handle means another stream from here on.
  void forget_key(const StreamKey& key) {
    recent_[StreamKeyHash()(key) % kRecent] = {};
    by_key_.erase(key);
  }
  /// Called for a stream whose key is forgotten.
  void forget(StreamId id) { streams_.erase(id); }
  void clear() {
    for (Recent& recent : recent_) recent = {};
    by_key_.clear();
    streams_.clear();
  }
  auto begin() const { return streams_.begin(); }
  auto end() const { return streams_.end(); }

 private:
  // The streams that calls used last are found without a search.
  static constexpr std::size_t kRecent = 8;
  struct Recent {
    StreamKey key;
    Stream* stream = nullptr;
  };

  std::unordered_map<StreamKey, StreamId, StreamKeyHash> by_key_;
  StreamMap<Stream> streams_;
  Recent recent_[kRecent];
};

}  // namespace cuvmm::shim
