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
  std::vector<Node> out;
  if (self.last >= 0) out.push_back(self.last);
  for (const Stream& other : streams_) {
    // The legacy stream and the blocking ones wait for each other.
    const bool awaited = (self.kind == Kind::kLegacy && other.kind == Kind::kBlocking) ||
                         (self.kind == Kind::kBlocking && other.kind == Kind::kLegacy);
    if (awaited && other.last >= 0) out.push_back(other.last);
  }
  return out;
}

Node History::add(int stream, std::vector<Use> uses, Node also) {
  Piece piece;
  piece.stream = stream;
  piece.after = right_before(stream);
  if (also >= 0) piece.after.push_back(also);
  piece.uses = std::move(uses);
  pieces_.push_back(std::move(piece));
  return this->stream(stream).last = count() - 1;
}

Node History::mark(int stream, Node also) {
  const Node made = add(stream, {}, also);
  pieces_.back().work = false;
  return made;
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
  const Node made = mark(stream, -1);
  pieces_.back().is_record = true;
  return made;
}

bool History::before_next(Node node, int stream) const {
  return reach(right_before(stream))[static_cast<std::size_t>(node)];
}

bool History::leads_to(Node node, Node other) const {
  return reach({other})[static_cast<std::size_t>(node)];
}

bool History::hangs_on(Node other, Node node) const {
  const std::vector<bool> needed = reach({other}), before = reach({node});
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (needed[i] && !before[i] && pieces_[i].work && !pieces_[i].known) return false;
  }
  return true;
}

std::vector<Node> History::awaited(int stream) const {
  const Stream& self = this->stream(stream);
  std::vector<Node> out = {self.last};
  for (const Stream& other : streams_) {
    if (self.kind == Kind::kLegacy && other.kind == Kind::kBlocking) out.push_back(other.last);
  }
  return out;
}

std::vector<Node> History::everything() const {
  std::vector<Node> out;
  for (const Stream& each : streams_) out.push_back(each.last);
  return out;
}

void History::learn(const std::vector<Node>& nodes) {
  const std::vector<bool> reached = reach(nodes);
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (reached[i]) pieces_[i].known = pieces_[i].over = true;
  }
}

void History::end(const std::vector<Node>& nodes) {
  const std::vector<bool> reached = reach(nodes);
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (reached[i]) pieces_[i].over = true;
  }
}

}  // namespace cuvmm::fuzz::flight
