// SPDX-License-Identifier: Apache-2.0
// What was given to streams, written down as a graph: one node for each thing that a stream was
// asked to do, with edges to those that come right before it. Questions are answered by walking.
//
// Deliberately naive, and deliberately not rulebook/order: there are no clocks and no positions,
// and nothing is ever forgotten.
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

/// Memory that work is given, or works on.
struct Use {
  Bytes bytes;
  bool argument = true;  ///< it is given: by a copy, or as a whole parameter of a kernel
  bool touched = true;   ///< it is read or written; an argument may go unused
  bool seen = true;      ///< false: in a struct, where nobody knows what is an address
};

/// An index into the nodes; -1 for none.
using Node = int;

class History {
 public:
  enum class Kind : std::uint8_t { kLegacy, kBlocking, kNonBlocking };
  struct Stream {
    std::uint64_t handle = 0;
    int thread = 0;  ///< of a thread's default stream
    Kind kind = Kind::kLegacy;
    bool live = true;
    Node last = -1;
    /// Of a blocking stream, an event's record behind the last of it and of the legacy stream. The
    /// stream itself has nothing to do for that.
    Node record = -1;
  };
  struct Piece {
    int stream = 0;
    std::vector<Node> after;  ///< those right before it
    std::vector<Use> uses;
    bool work = true;  ///< false: an event's record or a wait, which takes no time of its own
    bool is_record = false;
    bool known = false;  ///< the program waited for it, or was told that it is over
    bool over = false;   ///< it is over, whoever knows
    bool told = false;   ///< the program may know, or come to know, that it is over
    bool spoke = false;  ///< or that it is done with its memory, while it runs
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
  /// One more node at the end of a stream, behind `also` as well.
  Node add(int stream, std::vector<Use> uses = {}, Node also = -1);
  /// A wait for `also`, and an event's record.
  Node wait(int stream, Node also);
  Node record(int stream);
  /// Whether this node is done before the next one starts that the stream is given.
  bool before_next(Node node, int stream) const;
  /// Whether this node is done before the other starts, or is it.
  bool leads_to(Node node, Node other) const;

  /// Whether nothing but this node, and what comes before it, can keep the other from being done:
  /// as far as the program knows.
  bool hangs_on(Node other, Node node) const;
  /// The same by what is over, whoever knows.
  bool truly_hangs_on(Node other, Node node) const;

  /// What somebody waits for who waits for a stream, or for everything.
  std::vector<Node> awaited(int stream) const;
  /// What may keep a stream busy.
  std::vector<Node> busy_with(int stream) const;
  std::vector<Node> everything() const;
  /// The program knows these to be over, and so all that comes before them.
  void learn(const std::vector<Node>& nodes);
  /// The program may have waited for these, or may see of itself when they are over.
  void tell(const std::vector<Node>& nodes);
  /// The program looked, by this node, at a word that any work may have written which it does not
  /// come after.
  void look(Node by);
  /// They are over, but the program does not know.
  void end(const std::vector<Node>& nodes);

 private:
  std::vector<Node> right_before(int stream) const;
  Node put(int stream, Piece piece);
  /// Whether each piece of work that comes before `other` and not before `node` is `done`.
  template <class Done>
  bool hangs_on(Node other, Node node, Done done) const;
  /// The nodes and all before them.
  std::vector<bool> reach(const std::vector<Node>& from) const;

  std::vector<Stream> streams_;
  std::vector<Piece> pieces_;
};

}  // namespace cuvmm::fuzz::flight
