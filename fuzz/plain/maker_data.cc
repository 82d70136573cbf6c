// SPDX-License-Identifier: Apache-2.0
// The calls of data: fills and copies.
#include "fuzz/plain/maker.h"

#include <utility>

namespace cuvmm::fuzz::plain {

// The contexts that a peer copy names; sometimes none.
std::uint8_t Maker::contexts_of_sides() {
  const auto one = [&] { return random_.chance(2) ? 3u : random_.below(3); };
  const unsigned to = one(), from = one();
  return byte((to << 1) | (from << 3));
}

// Chooses destination and source: two blocks, or a block and the recorder's own memory.
void Maker::sides(Op& op, bool needs_host) {
  const auto live = [](const Known& block) { return block.live; };
  op.ref = any(live);
  op.ref2 = any(live);
  op.at = random_.chance(70) ? 0 : place(false);
  op.at2 = random_.chance(70) ? 0 : place(false);
  if (!needs_host && !random_.chance(25)) return;
  // The recorder's buffer is one side.
  if (random_.chance(50)) {
    op.ref = 0;
    op.at = 1;
  } else {
    op.ref2 = 0;
    op.at2 = 1;
  }
}

void Maker::data(Op& op) {
  const auto live = [](const Known& block) { return block.live; };
  op.value = below(256);
  op.which = below(3);
  op.form = random_.chance(60) ? 0 : below(8);
  // Mostly lengths that fit: a few bytes, the rest of the block, half of it.
  constexpr std::uint8_t kUsual[] = {1, 2, 3, 4, 5, 5, 6, 7, 8, 11, 11, 12, 12, 12, 26, 27};
  op.size = random_.chance(88) ? kUsual[below(std::size(kUsual))] : below(std::size(kLengths));
  op.height = random_.chance(75) ? byte(random_.chance(40) ? 0 : 2 + random_.below(2))
                                 : below(std::size(kHeights));
  op.pitch = random_.chance(60) ? byte(random_.below(2)) : below(std::size(kPitches));
  op.pitch2 = random_.chance(60) ? byte(random_.below(2)) : below(std::size(kPitches));
  // A pitch that no block can have fits one row.
  if (op.pitch >= 8 && op.pitch <= 12 && random_.chance(80)) op.height = 0;
  if (op.pitch2 >= 8 && op.pitch2 <= 12 && random_.chance(80)) op.height = 0;
  switch (op.code) {
    case Code::kFill:
    case Code::kFill2D:
      op.ref = any(live);
      if (random_.chance(2)) op.ref = 0;
      op.at = random_.chance(60) ? 0 : place(false);
      return;
    case Code::kCopy: {
      op.form = byte(below(8) + (below(4) << 4));
      const unsigned direction = op.form % 4;
      sides(op, direction < 2);
      // Whether the host is the destination or the source.
      const bool swap = (direction == 0 && op.ref == 0) || (direction == 1 && op.ref2 == 0);
      if (swap && !fault()) {
        std::swap(op.ref, op.ref2);
        std::swap(op.at, op.at2);
      }
      return;
    }
    case Code::kCopyPeer:
      sides(op, false);
      op.form = byte(contexts_of_sides() | below(2) | (below(4) << 5));
      return;
    case Code::kBatch: {
      sides(op, false);
      op.form = random_.chance(70) ? 3 : below(4);
      op.depth = random_.chance(95) ? byte(1 + random_.below(4)) : 0;
      op.which = random_.chance(90) ? below(6) : below(8);
      op.value = random_.chance(50) ? 0 : random_.chance(50) ? byte(random_.below(16)) : below(256);
      op.flags = random_.chance(70) ? 0 : below(64);
      return;
    }
    case Code::kCopy2D:
    case Code::kCopy3D:
    case Code::kCopy3DPeer:
      return by_descriptor(op);
    default:
      return;
  }
}

void Maker::by_descriptor(Op& op) {
  op.which = random_.chance(95) ? below(9) : below(11);
  const bool host =
      op.which == 0 || op.which == 1 || op.which == 4 || op.which == 7 || op.which == 8;
  sides(op, host && op.which != 4);
  const bool to_host = op.which == 1 || op.which == 8;
  if (!fault()) {
    const bool swap = (to_host && op.ref2 == 0) || (!to_host && host && op.ref == 0);
    if (swap) {
      std::swap(op.ref, op.ref2);
      std::swap(op.at, op.at2);
    }
    if (op.which == 8 || op.which == 7) op.which = op.which == 7 ? 8 : 7;
  }
  if (op.which == 4) op.ref = op.ref2 = 0, op.at = op.at2 = 1;
  op.form = op.code == Code::kCopy3DPeer ? byte(contexts_of_sides() | below(2) | (below(4) << 5))
                                         : byte(below(3) + (below(4) << 4));
  op.flags = random_.chance(75) ? 0 : byte(1u << random_.below(6));
  op.depth = random_.chance(70) ? byte(random_.chance(50) ? 0 : 2) : below(5);
  op.value = random_.chance(60) ? 0 : random_.chance(70) ? below(16) : byte(1u << random_.below(8));
}

}  // namespace cuvmm::fuzz::plain
