// SPDX-License-Identifier: Apache-2.0
#include "fuzz/flight/history.h"

#include <utility>

namespace cuvmm::fuzz::flight {

namespace {
constexpr std::uint64_t kLegacyHandle = 1, kThreadHandle = 2;
}  // namespace

int History::find(std::uint64_t handle, int thread) {
  if (handle == 0) handle = kLegacyHandle;
  for (std::size_t i = streams_.size(); i-- > 0;) {
    const Stream& s = streams_[i];
    if (!s.live || s.handle != handle) continue;
    if (handle == kThreadHandle && s.thread != thread) continue;
    return static_cast<int>(i);
  }
  if (handle > kThreadHandle) return -1;
  streams_.push_back({handle, handle == kThreadHandle ? thread : 0,
                      handle == kLegacyHandle ? Kind::kLegacy : Kind::kBlocking});
  return streams() - 1;
}

int History::open(std::uint64_t handle, Kind kind) {
  streams_.push_back({handle, 0, kind});
  return streams() - 1;
}

std::vector<Node> History::right_before(int stream) const {
  const Stream& self = this->stream(stream);
  std::vector<Node> out = {self.last, self.record};
  for (const Stream& other : streams_) {
    // The legacy stream and the blocking ones wait for each other.
    const bool awaited = (self.kind == Kind::kLegacy && other.kind == Kind::kBlocking) ||
                         (self.kind == Kind::kBlocking && other.kind == Kind::kLegacy);
    if (awaited) out.insert(out.end(), {other.last, other.record});
  }
  return out;
}

Node History::put(int stream, Piece piece) {
  piece.stream = stream;
  std::erase(piece.after, -1);
  pieces_.push_back(std::move(piece));
  return count() - 1;
}

Node History::add(int stream, std::vector<Use> uses, Node also) {
  Piece piece;
  piece.after = right_before(stream);
  piece.after.push_back(also);
  piece.uses = std::move(uses);
  return this->stream(stream).last = put(stream, std::move(piece));
}

Node History::wait(int stream, Node also) {
  Piece piece;
  piece.work = false;
  // A blocking stream that gets work waits for the legacy stream.
  Stream& self = this->stream(stream);
  if (self.kind != Kind::kBlocking) piece.after = right_before(stream);
  piece.after.insert(piece.after.end(), {self.last, also});
  return self.last = put(stream, std::move(piece));
}

std::vector<bool> History::reach(const std::vector<Node>& from) const {
  std::vector<bool> seen(pieces_.size());
  std::vector<Node> look = from;
  while (!look.empty()) {
    const Node node = look.back();
    look.pop_back();
    if (node < 0 || seen[static_cast<std::size_t>(node)]) continue;
    seen[static_cast<std::size_t>(node)] = true;
    for (const Node before : piece(node).after) look.push_back(before);
  }
  return seen;
}

Node History::record(int stream) {
  Piece piece;
  piece.work = false;
  piece.is_record = true;
  piece.after = right_before(stream);
  Stream& self = this->stream(stream);
  Node& newest = self.kind == Kind::kBlocking ? self.record : self.last;
  return newest = put(stream, std::move(piece));
}

bool History::before_next(Node node, int stream) const {
  return reach(right_before(stream))[static_cast<std::size_t>(node)];
}

bool History::leads_to(Node node, Node other) const {
  return reach({other})[static_cast<std::size_t>(node)];
}

template <class Done>
bool History::hangs_on(Node other, Node node, Done done) const {
  const std::vector<bool> needed = reach({other}), before = reach({node});
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (needed[i] && !before[i] && pieces_[i].work && !done(pieces_[i])) return false;
  }
  return true;
}

bool History::hangs_on(Node other, Node node) const {
  return hangs_on(other, node, [](const Piece& piece) { return piece.known; });
}

bool History::truly_hangs_on(Node other, Node node) const {
  return hangs_on(other, node, [](const Piece& piece) { return piece.over; });
}

std::vector<Node> History::awaited(int stream) const {
  const Stream& self = this->stream(stream);
  std::vector<Node> out = {self.last};
  for (const Stream& other : streams_) {
    if (self.kind != Kind::kLegacy || other.kind != Kind::kBlocking) continue;
    out.insert(out.end(), {other.last, other.record});
  }
  return out;
}

std::vector<Node> History::busy_with(int stream) const {
  std::vector<Node> out = awaited(stream);
  out.push_back(this->stream(stream).record);
  return out;
}

std::vector<Node> History::everything() const {
  std::vector<Node> out;
  for (const Stream& each : streams_) out.insert(out.end(), {each.last, each.record});
  return out;
}

void History::learn(const std::vector<Node>& nodes) {
  const std::vector<bool> reached = reach(nodes);
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (reached[i]) pieces_[i].known = pieces_[i].over = true;
  }
}

void History::tell(const std::vector<Node>& nodes) {
  const std::vector<bool> reached = reach(nodes);
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (reached[i]) pieces_[i].may_be_known = true;
  }
}

void History::look(Node by) {
  tell(everything());
  const std::vector<bool> before = by < 0 ? std::vector<bool>(pieces_.size()) : reach({by});
  for (std::size_t i = 0; i < pieces_.size(); ++i) pieces_[i].spoke |= !before[i];
}

void History::end(const std::vector<Node>& nodes) {
  const std::vector<bool> reached = reach(nodes);
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (reached[i]) pieces_[i].over = true;
  }
}

}  // namespace cuvmm::fuzz::flight
