// SPDX-License-Identifier: Apache-2.0
// The reference's state of streams, events, captures and graphs: flat lists.
#pragma once

#include <cuda.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace cuvmm::fuzz {

struct CaptureState {
  /// A fill or a copy that a stream captured.
  struct Node {
    bool copies;
    std::uint64_t to, from, size;
    unsigned char value;
    std::vector<int> after;  ///< the nodes right before it
  };
  struct Stream {
    std::uint64_t value;  ///< the CUstream
    int device;           ///< of its context
    bool blocking;
    bool live = true;
    int capture = -1;             ///< the capture that it takes part in; -1: none
    std::vector<int> front = {};  ///< the nodes that its next node comes after
  };
  enum class Health : std::uint8_t {
    kActive,
    kLost,   ///< a forbidden call invalidated it
    kDoubt,  ///< one of several captures that a call forbade: no document says which are lost
    kOver
  };
  struct Capture {
    CUstreamCaptureMode mode;
    int thread;  ///< that began it
    int device;
    int origin;  ///< index of the stream on which it began
    Health health = Health::kActive;
    std::vector<Node> nodes = {};
    bool live() const { return health != Health::kOver; }
  };
  struct Event {
    std::uint64_t value;
    int device;
    bool live = true;
    bool recorded = false;
    int capture = -1;  ///< in which it was recorded last, which may be over; -1: in none
    std::vector<int> front = {};
  };
  struct Graph {
    std::uint64_t value;
    int device;
    std::vector<Node> nodes;
    bool known = true;  ///< false: calls were captured whose nodes are in doubt
  };
  struct Executable {
    std::uint64_t value;
    int device;
    std::vector<Node> nodes;
    bool live = true;
  };
  std::vector<Stream> streams;
  std::vector<Capture> captures;
  std::vector<Event> events;
  std::vector<Graph> graphs;
  std::vector<Executable> executables;

  void clear() {
    streams.clear();
    captures.clear();
    events.clear();
    graphs.clear();
    executables.clear();
  }
  bool capturing() const {
    return std::any_of(captures.begin(), captures.end(), [](const Capture& c) { return c.live(); });
  }
  /// The last object that had this value, which is the live one if there is one; null for none.
  template <class List>
  static auto find(List& list, const void* value) {
    decltype(list.data()) found = nullptr;
    for (auto& each : list) {
      if (each.value == reinterpret_cast<std::uint64_t>(value)) found = &each;
    }
    return found;
  }
  Capture* of(const Stream& stream) {
    return stream.capture < 0 ? nullptr : &captures[static_cast<std::size_t>(stream.capture)];
  }
  const Capture* of(const Stream& stream) const {
    return const_cast<CaptureState*>(this)->of(stream);
  }
  /// Whether a stream of this capture is a blocking one, for which the legacy stream waits.
  bool blocks(int capture) const {
    return std::any_of(streams.begin(), streams.end(), [&](const Stream& stream) {
      return stream.live && stream.capture == capture && stream.blocking;
    });
  }
  /// Marks the node and all nodes before it.
  static void mark(const std::vector<Node>& nodes, int node, std::vector<bool>& seen) {
    if (seen[static_cast<std::size_t>(node)]) return;
    seen[static_cast<std::size_t>(node)] = true;
    for (const int before : nodes[static_cast<std::size_t>(node)].after) mark(nodes, before, seen);
  }
  void finish(int capture) {
    captures[static_cast<std::size_t>(capture)].health = Health::kOver;
    for (Stream& stream : streams) {
      if (stream.capture != capture) continue;
      stream.capture = -1;
      stream.front.clear();
    }
  }
};

/// The effect of a capture that is under way on a call that is not about streams, as recorded on an
/// H200 (emulator/testing_capture/h200-580.159.04.txt.xz).
enum class InCapture : std::uint8_t {
  kFree,          ///< anything
  kUnsafe,        ///< nothing, if the capture's mode forbids unsafe calls
  kLegacy,        ///< works on the legacy stream, which waits for blocking streams
  kLegacyUnsafe,  ///< both
  kOwn,           ///< calls about streams, which have rules of their own
  kUnknown        ///< not recorded
};

}  // namespace cuvmm::fuzz
