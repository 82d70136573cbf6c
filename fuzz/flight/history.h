// SPDX-License-Identifier: Apache-2.0
// A graph of the work that the program gave to streams: one node for each item of a stream, with
// edges to the nodes right before it. Functions answer questions by walking the graph.
//
// The class is naive on purpose, and shares no design with rulebook/order: it has no clocks and no
// positions, and forgets nothing.
#pragma once

#include <cstdint>
#include <vector>

namespace cuvmm::fuzz::flight {

struct Bytes {
  std::uint64_t base = 0, size = 0;
  bool meets(const Bytes& other) const {
    return base < other.base + other.size && other.base < base + size;
  }
  bool holds(const Bytes& other) const {
    return other.base >= base && other.base + other.size <= base + size;
  }
};

/// Memory that work gets as an argument, or works on.
struct Use {
  Bytes bytes;
  bool argument = true;  ///< an argument: of a copy, or a whole parameter of a kernel
  bool touched = true;   ///< the work reads or writes it; an argument may go unused
  bool seen =
      true;  ///< false: the memory's address is in a struct, where a shim cannot recognise it
};

/// An index into the nodes; -1 for none.
using Node = int;

class History {
 public:
  enum class Kind : std::uint8_t { kLegacy, kBlocking, kNonBlocking };
  struct Stream {
    std::uint64_t handle = 0;
    int thread = 0;  ///< the thread of a thread's default stream
    Kind kind = Kind::kLegacy;
    bool live = true;
    Node last = -1;
    /// For a blocking stream: an event's record behind the last record of this stream and of the
    /// legacy stream. The stream itself does no work for it.
    Node record = -1;
  };
  struct Piece {
    int stream = 0;
    std::vector<Node> after;  ///< the nodes right before this one
    std::vector<Use> uses;
    bool work = true;  ///< false: an event's record or a wait, which takes no time of its own
    bool is_record = false;
    bool known = false;         ///< the program waited for it, or a query said that it is over
    bool over = false;          ///< it is over, whether the program knows or not
    bool may_be_known = false;  ///< the program may know, or come to know, that it is over
    bool spoke =
        false;  ///< the program may know that it no longer uses its memory, although it runs
    bool graph = false;  ///< a launch of a graph
  };

  /// The index of a live stream; -1 for none. 0, 1 and 2 are the default streams.
  int find(std::uint64_t handle, int thread);
  int open(std::uint64_t handle, Kind kind);
  Stream& stream(int index) { return streams_[static_cast<std::size_t>(index)]; }
  const Stream& stream(int index) const { return streams_[static_cast<std::size_t>(index)]; }
  int streams() const { return static_cast<int>(streams_.size()); }
  const Piece& piece(Node node) const { return pieces_[static_cast<std::size_t>(node)]; }
  Node count() const { return static_cast<Node>(pieces_.size()); }

  void mark_graph(Node node) { pieces_[static_cast<std::size_t>(node)].graph = true; }
  /// Adds a node at the end of a stream, also behind `also`.
  Node add(int stream, std::vector<Use> uses = {}, Node also = -1);
  /// Add a wait for `also`, and an event's record.
  Node wait(int stream, Node also);
  Node record(int stream);
  /// Whether this node is done before the stream's next node starts.
  bool before_next(Node node, int stream) const;
  /// Whether `node` is `other`, or is done before `other` starts.
  bool leads_to(Node node, Node other) const;

  /// Whether only `node`, and the nodes before it, can keep `other` from being done, as far as the
  /// program knows.
  bool hangs_on(Node other, Node node) const;
  /// hangs_on() by the nodes that are over, whether the program knows or not.
  bool truly_hangs_on(Node other, Node node) const;

  /// The nodes that a wait for this stream, or for everything, waits for.
  std::vector<Node> awaited(int stream) const;
  /// The nodes that may keep a stream busy.
  std::vector<Node> busy_with(int stream) const;
  std::vector<Node> everything() const;
  /// Marks these nodes, and all nodes before them, as known to be over.
  void learn(const std::vector<Node>& nodes);
  /// Marks nodes for which the program may have waited, or whose end it may see by itself.
  void tell(const std::vector<Node>& nodes);
  /// The program looked, by this node, at a word. Any work that the node does not come before may
  /// have written that word.
  void look(Node by);
  /// Marks nodes as over, without the program's knowledge.
  void end(const std::vector<Node>& nodes);

 private:
  std::vector<Node> right_before(int stream) const;
  Node put(int stream, Piece piece);
  /// Whether each node that comes before `other` and not before `node` is `done`.
  template <class Done>
  bool hangs_on(Node other, Node node, Done done) const;
  /// The nodes and all nodes before them.
  std::vector<bool> reach(const std::vector<Node>& from) const;

  std::vector<Stream> streams_;
  std::vector<Piece> pieces_;
};

}  // namespace cuvmm::fuzz::flight
