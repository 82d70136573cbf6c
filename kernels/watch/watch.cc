// SPDX-License-Identifier: Apache-2.0
#include "kernels/watch/watch.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

#include "kernels/run/mask.h"
#include "kernels/run/warp.h"

namespace cuvmm::kernels {

namespace {

constexpr unsigned kWord = 4;  // bytes
constexpr std::size_t kMostFound = 256;

// The first of the bits that is 0; `count` if none is.
unsigned first_clear(const std::uint64_t* bits, std::uint64_t first, unsigned count) {
  for (unsigned k = 0; k < count; ++k) {
    const std::uint64_t at = first + k;
    if ((bits[at / 64] >> at % 64 & 1) == 0) return k;
  }
  return count;
}

void set_bits(std::uint64_t* bits, std::uint64_t first, unsigned count) {
  for (std::uint64_t at = first; at < first + count; ++at)
    bits[at / 64] |= std::uint64_t{1} << at % 64;
}

std::string hex(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

// The value that a store writes into the word that begins at `offset` of its bytes.
std::uint32_t stored(Warp& warp, const Instruction& i, unsigned lane, unsigned offset) {
  const unsigned each = i.width / i.count;
  char bytes[32] = {};
  for (unsigned part = 0; part < i.count; ++part)
    std::memcpy(bytes + std::size_t{part} * each, &warp.reg(i.v[part])[lane], each);
  std::uint32_t value = 0;
  std::memcpy(&value, bytes + offset, kWord);
  return value;
}

bool conflict(const Mark& now, const Mark& other) {
  if (other.moment == 0 || (now.bytes & other.bytes) == 0) return false;
  if (((now.effect | other.effect) & kVolatile) != 0) return false;
  return (now.effect & other.effect & kStrong) == 0;
}

// Whether `first` may be dropped, now that the thread of `second` accesses the same word.
bool replaces(const Mark& first, const Mark& second) {
  return first.moment == 0 || (first.thread == second.thread && first.block == second.block &&
                               (first.bytes & ~second.bytes) == 0);
}

// Whether the thread's earlier write races with more than this one does.
bool hides(const Mark& now, const Mark& before) {
  return now.moment == before.moment && now.thread == before.thread && now.block == before.block &&
         (now.effect & kStrong) != 0 && (before.effect & kStrong) == 0 &&
         (now.bytes & ~before.bytes) == 0;
}

}  // namespace

Watch::Inside& Watch::inside(BlockView& block) {
  if (last_block_ == &block) return *last_;
  std::unique_ptr<Inside>& found = blocks_[&block];
  if (!found) found = std::make_unique<Inside>(moments_, shape_.threads());
  last_block_ = &block;
  last_ = found.get();
  return *last_;
}

void Watch::starts(BlockView& block) {
  Inside& in = inside(block);
  const unsigned* const at = block.index();
  in.number = at[0] + shape_.grid[0] * (at[1] + shape_.grid[1] * at[2]);
  in.order.order_all();
  in.waits.assign((shape_.threads() + kLanes - 1) / kLanes, nullptr);
}

bool Watch::is_new(Wrong wrong, const Instruction& i, std::uint32_t other) {
  return found_.size() < kMostFound && known_.emplace(wrong, i.line, other).second;
}

void Watch::before(Warp& warp, const Instruction& i, Mask m) {
  if ((i.effect & (kLoads | kStores)) != 0) {
    const std::uint64_t* const a = warp.reg(i.a);
    for (Mask left = m; left != 0; left &= left - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(left));
      const std::uint64_t address = a[lane] + i.immediate;
      const Space space = i.space == Space::kNone ? space_at(address) : i.space;
      const bool shared = space == Space::kShared;
      if (!shared && (space != Space::kGlobal || (address & kWindowMask) != 0)) continue;
      if ((address & (i.width - 1U)) != 0) return;  // a fault
      if (checks_.init && !shared) check_written(warp, i, lane, address);
      if (checks_.race) check_race(warp, i, lane, address & ~kWindowMask, shared);
    }
  }
  if ((i.effect & kOrders) != 0) moments_.order_all();
  if ((i.effect & kOrdersBlock) != 0) inside(warp.block()).order.order_all();
}

void Watch::check_written(Warp& warp, const Instruction& i, unsigned lane, std::uint64_t address) {
  const bool writes = (i.effect & kStores) != 0;
  const Memory::Window* const window = memory_.around(address, i.width, writes);
  if (!window || !window->written) return;
  const std::uint64_t first = window->written_at + (address - window->begin);
  if ((i.effect & kLoads) != 0) {
    const unsigned good = first_clear(window->written, first, i.width);
    if (good < i.width && is_new(Wrong::kUnwritten, i, 0)) {
      Fault fault =
          warp.fault(i, lane, Wrong::kUnwritten,
                     "a load of " + std::to_string(i.width) + " bytes at " + hex(address) +
                         ", of which nobody wrote the byte at " + hex(address + good));
      fault.address = address + good;
      found_.push_back(std::move(fault));
    }
  }
  if (writes) set_bits(window->written, first, i.width);
}

void Watch::writes(std::uint64_t address, unsigned size) {
  if (!checks_.init || (address & kWindowMask) != 0) return;
  const Memory::Window* const window = memory_.around(address, size, true);
  if (window && window->written)
    set_bits(window->written, window->written_at + (address - window->begin), size);
}

void Watch::check_race(Warp& warp, const Instruction& i, unsigned lane, std::uint64_t address,
                       bool shared) {
  const bool writes = (i.effect & kStores) != 0;
  Inside& in = inside(warp.block());
  char* bytes = nullptr;
  if (shared) {
    std::vector<char>& all = warp.block().shared();
    if (address > all.size() || i.width > all.size() - address) return;
    bytes = &all[address];
  } else {
    const Memory::Window* const window = memory_.around(address, i.width, writes);
    if (!window) return;
    bytes = window->bytes + (address - window->begin);
  }
  Mark now{.moment = moments_.now(),
           .block = in.number,
           .line = static_cast<std::uint32_t>(i.line),
           .thread = static_cast<std::uint16_t>(warp.first_thread() + lane),
           .effect = i.effect};
  const bool known = writes && (i.effect & kLoads) == 0;  // else the value is not known yet
  for (unsigned at = 0; at < i.width; at += kWord) {
    const auto place = shared ? address + at : reinterpret_cast<std::uintptr_t>(bytes + at);
    Word* const word = (shared ? in.shared : global_).at(place);
    if (!word) return;
    const unsigned size = std::min<unsigned>(i.width, kWord), begin = place % kWord;
    now.bytes = static_cast<std::uint8_t>(((1U << size) - 1) << begin);
    std::uint32_t value = 0;
    if (known) {
      value = stored(warp, i, lane, at);
      // Nobody can tell a write that leaves the value from none.
      if (std::memcmp(&value, bytes + at, size) == 0) continue;
    }
    const auto races = [&](const Mark& other) {
      if (!conflict(now, other) || moments_.before_all(other.moment)) return false;
      // Shared memory that a block has after another one is new memory.
      if (other.block != now.block) return !shared;
      return !in.order.ordered(other.moment, other.thread, now.thread);
    };
    const bool same = known && word->write.bytes == now.bytes && word->value == value;
    if (races(word->write) && !same) {
      race(warp, i, lane, address + at, shared, now, word->write);
    } else if (writes) {
      for (const Mark& read : word->reads) {
        if (races(read)) race(warp, i, lane, address + at, shared, now, read);
      }
    }
    if (writes && !hides(now, word->write)) {
      word->write = now;
      word->value = value;
    } else if (!writes) {
      word->reads[replaces(word->reads[0], now) ? 0 : 1] = now;
    }
  }
}

std::string Watch::thread_text(const Mark& mark) const {
  const auto triple = [](std::uint64_t number, const unsigned(&size)[3]) {
    return "(" + std::to_string(number % size[0]) + ", " +
           std::to_string(number / size[0] % size[1]) + ", " +
           std::to_string(number / size[0] / size[1]) + ")";
  };
  return "thread " + triple(mark.thread, shape_.block) + " of block " +
         triple(mark.block, shape_.grid);
}

void Watch::race(Warp& warp, const Instruction& i, unsigned lane, std::uint64_t address,
                 bool shared, const Mark& now, const Mark& other) {
  const Wrong wrong = shared ? Wrong::kSharedRace : Wrong::kGlobalRace;
  const std::uint32_t one = std::min(now.line, other.line), two = std::max(now.line, other.line);
  Instruction first = i;
  first.line = static_cast<int>(one);
  if (!is_new(wrong, first, two)) return;
  const auto verb = [](const Mark& mark, bool past) {
    if ((mark.effect & kStores) == 0) return past ? "read" : "reads";
    return past ? "wrote" : "writes";
  };
  Fault fault = warp.fault(
      i, lane, wrong,
      std::string("it ") + verb(now, false) + " " + (shared ? "shared" : "global") + " memory at " +
          hex(address) + ", which " + thread_text(other) + " " + verb(other, true) + ", and " +
          (now.block != other.block ? "no fence or later launch" : "no barrier or fence") +
          " orders the two");
  if (!shared) fault.address = address;
  fault.other_line = static_cast<int>(other.line);
  found_.push_back(std::move(fault));
}

void Watch::met(Warp& warp, const Instruction& i, Mask m) {
  inside(warp.block()).order.meet(warp.first_thread() / kLanes, m);
  if (!checks_.sync) return;
  for (Mask left = m; left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    const auto mask = static_cast<Mask>(warp.reg(i.e)[lane]);
    if (is_set(mask, lane) || !is_new(Wrong::kMask, i, 0)) continue;
    found_.push_back(warp.fault(i, lane, Wrong::kMask,
                                "lane " + std::to_string(lane) + " executes it with the mask " +
                                    hex(mask) + ", which does not have the lane"));
  }
}

void Watch::arrives(Warp& warp, const Instruction& i, Mask m, unsigned barrier, unsigned expected) {
  Inside& in = inside(warp.block());
  const unsigned number = warp.first_thread() / kLanes;
  in.order.arrive(number, barrier);
  if (!checks_.sync) return;
  const auto lane = static_cast<unsigned>(std::countr_zero(m));
  if (expected % kLanes != 0 && is_new(Wrong::kCount, i, 0)) {
    found_.push_back(warp.fault(i, lane, Wrong::kCount,
                                "barrier " + std::to_string(barrier) + " waits for " +
                                    std::to_string(expected) +
                                    " threads, which is no number of whole warps"));
  }
  if (i.flow != Flow::kBarrier || (i.flags & kAligned) == 0) return;
  const Instruction*& at = in.waits[number];
  if (at && at != &i && is_new(Wrong::kDivergent, i, static_cast<std::uint32_t>(at->line))) {
    Fault fault = warp.fault(i, lane, Wrong::kDivergent,
                             "it waits for a barrier while other threads of its warp wait at "
                             "another instruction");
    fault.other_line = at->line;
    found_.push_back(std::move(fault));
  }
  at = &i;
}

void Watch::opens(BlockView& block, unsigned barrier, bool all) {
  Inside& in = inside(block);
  in.order.open(barrier, all);
  std::fill(in.waits.begin(), in.waits.end(), nullptr);
}

}  // namespace cuvmm::kernels
