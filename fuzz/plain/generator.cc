// SPDX-License-Identifier: Apache-2.0
#include "fuzz/plain/generator.h"

#include <algorithm>

namespace cuvmm::fuzz::plain {

namespace {

std::uint8_t byte(std::uint32_t value) { return static_cast<std::uint8_t>(value); }

struct Known {
  std::uint8_t name;
  Kind kind;
  std::uint8_t size = 0;  ///< as its op names it
  bool live = true;
};

bool anything(const Known&) { return true; }

// Whether the call takes away a block.
bool ends(Code code) {
  return code == Code::kUnregister || code == Code::kFree || code == Code::kFreeHost ||
         code == Code::kUnmap || code == Code::kFreeAsync;
}

class Maker {
 public:
  explicit Maker(Random& random) : random_(random) {
    // A style: some programs go wrong often, a few touch what is not theirs.
    faults_ = random_.chance(30) ? 15 : 4;
    wild_ = random_.below(400) == 0;
    contexts_ = random_.chance(35);
  }
  Op make();

 private:
  Code choose();
  void memory(Op& op);
  void allocation(Op& op);
  void pitched(Op& op);
  void registration(Op& op);
  void ending(Op& op);
  template <class Fits>
  void freed(Op& op, Fits fits);
  void query(Op& op);
  void data(Op& op);
  void pool(Op& op);
  void sides(Op& op, bool needs_host);
  void register_again(Op& op);
  void by_descriptor(Op& op);
  std::uint8_t contexts_of_sides();
  std::uint8_t below(std::size_t n) { return byte(random_.below(static_cast<std::uint32_t>(n))); }
  template <class Fits>
  std::uint8_t any(Fits fits);
  bool fault() { return random_.chance(faults_); }
  std::uint8_t size();
  std::uint8_t place(bool exact);
  void born(Op& op, Kind kind);
  void died(std::uint8_t name);

  Random& random_;
  std::vector<Known> blocks_;
  std::vector<std::uint8_t> pools_;
  std::uint8_t next_ = 1, next_pool_ = 1;
  unsigned faults_ = 0;
  bool wild_ = false, contexts_ = false;
};

// The name of a block that fits, or 0.
template <class Fits>
std::uint8_t Maker::any(Fits fits) {
  std::vector<std::uint8_t> names;
  for (const Known& block : blocks_) {
    if (fits(block)) names.push_back(block.name);
  }
  return names.empty() ? std::uint8_t{0} : names[below(names.size())];
}

std::uint8_t Maker::size() {
  if (fault()) return random_.chance(50) ? 0 : byte(20 + random_.below(4));
  if (random_.chance(3)) return byte(14 + random_.below(6));  // a megabyte and more
  return byte(1 + random_.below(13));
}

// The index of a place: the start, somewhere, or anywhere.
std::uint8_t Maker::place(bool exact) {
  if (exact && !fault()) return 0;
  if (random_.chance(35)) return 0;
  if (random_.chance(55)) return random_.chance(50) ? 7 : byte(1 + random_.below(6));
  return below(std::size(kPlaces));
}

void Maker::born(Op& op, Kind kind) {
  op.name = next_;
  if (next_ + 1u < kBlocks) ++next_;
  blocks_.push_back({op.name, kind, op.size});
}

void Maker::died(std::uint8_t name) {
  for (Known& block : blocks_) {
    if (block.name == name) block.live = false;
  }
}

Code Maker::choose() {
  struct Weight {
    Code code;
    unsigned weight;
  };
  static constexpr Weight kWeights[] = {{Code::kContext, 2},
                                        {Code::kAlloc, 10},
                                        {Code::kAllocPitch, 8},
                                        {Code::kAllocHost, 2},
                                        {Code::kHostAlloc, 4},
                                        {Code::kRegister, 5},
                                        {Code::kUnregister, 3},
                                        {Code::kFree, 8},
                                        {Code::kFreeHost, 3},
                                        {Code::kAllocAsync, 4},
                                        {Code::kAllocPool, 5},
                                        {Code::kFreeAsync, 5},
                                        {Code::kMap, 2},
                                        {Code::kUnmap, 1},
                                        {Code::kDevicePointer, 8},
                                        {Code::kHostFlags, 6},
                                        {Code::kAttribute, 46},
                                        {Code::kAttributes, 14},
                                        {Code::kSetAttribute, 6},
                                        {Code::kRange, 16},
                                        {Code::kRangeHandle, 12},
                                        {Code::kRetain, 3},
                                        {Code::kAccess, 4},
                                        {Code::kFill, 16},
                                        {Code::kFill2D, 16},
                                        {Code::kCopy, 26},
                                        {Code::kCopy2D, 24},
                                        {Code::kCopy3D, 14},
                                        {Code::kBatch, 12},
                                        {Code::kCopyPeer, 10},
                                        {Code::kCopy3DPeer, 7},
                                        {Code::kPoolCreate, 6},
                                        {Code::kPoolDestroy, 2},
                                        {Code::kPoolDefault, 1},
                                        {Code::kPoolCurrent, 2},
                                        {Code::kPoolSet, 2},
                                        {Code::kPoolAttribute, 14},
                                        {Code::kPoolSetAttribute, 5},
                                        {Code::kPoolTrim, 3},
                                        {Code::kPoolAccess, 3},
                                        {Code::kPoolSetAccess, 2}};
  if (blocks_.empty() && random_.chance(80)) {
    constexpr Code kFirst[] = {Code::kAlloc,    Code::kAllocPitch, Code::kHostAlloc,
                               Code::kRegister, Code::kAllocAsync, Code::kMap};
    return kFirst[below(std::size(kFirst))];
  }
  unsigned total = 0;
  for (const Weight& w : kWeights) total += w.weight;
  unsigned at = random_.below(total);
  for (const Weight& w : kWeights) {
    if (at < w.weight) return w.code;
    at -= w.weight;
  }
  return Code::kAttribute;
}

Op Maker::make() {
  Op op;
  op.code = choose();
  if (op.code == Code::kContext && !contexts_) op.code = Code::kAttribute;
  if (contexts_ && random_.chance(4)) op.code = Code::kContext;
  if (wild_) op.faults |= kWild;
  if (op.code <= Code::kUnmap) {
    memory(op);
    if (ends(op.code) && op.ref == 0 && !random_.chance(10)) {  // nothing to end
      op = {};
      op.code = Code::kAttribute;
      if (wild_) op.faults |= kWild;
      query(op);
    }
  } else if (op.code <= Code::kAccess) {
    query(op);
  } else if (is_data(op.code)) {
    data(op);
  } else {
    pool(op);
  }
  return op;
}

void Maker::memory(Op& op) {
  if (op.code == Code::kContext) {
    op.which = random_.chance(8) ? 3 : below(3);
    return;
  }
  if (!ends(op.code)) op.size = size();
  const bool queued =
      op.code == Code::kAllocAsync || op.code == Code::kAllocPool || op.code == Code::kFreeAsync;
  if (queued) op.form = random_.chance(60) ? 0 : below(4);
  ends(op.code) ? ending(op) : allocation(op);
}

void Maker::allocation(Op& op) {
  switch (op.code) {
    case Code::kAlloc:
      return born(op, Kind::kPlain);
    case Code::kAllocPitch:
      return pitched(op);
    case Code::kAllocHost:
      return born(op, Kind::kHost);
    case Code::kHostAlloc:
      op.flags = fault() ? below(32) : below(8);
      return born(op, Kind::kHost);
    case Code::kRegister:
      return registration(op);
    case Code::kAllocPool:
      op.ref2 =
          pools_.empty() || random_.chance(20) ? std::uint8_t{0} : pools_[below(pools_.size())];
      return born(op, Kind::kPooled);
    case Code::kAllocAsync:
      return born(op, Kind::kPooled);
    default:  // a mapping
      op.size = random_.chance(85) ? 0 : below(3);
      op.which = below(8);
      op.form = below(8);
      op.value = random_.chance(70) ? 0 : below(3);
      return born(op, Kind::kMapped);
  }
}

void Maker::pitched(Op& op) {
  if (op.size > 12 && op.size < 20) op.size = byte(1 + random_.below(12));
  op.height = fault() ? below(std::size(kHeights)) : std::uint8_t{2};
  if (random_.chance(50)) op.height = byte(3 + random_.below(3));
  if (op.height == 7) op.size = byte(1 + random_.below(6));  // gigabytes take too long to fill
  op.which = fault() ? below(std::size(kElements)) : below(3);
  if (fault()) op.faults |= random_.chance(50) ? kNullOut : kNullOut2;
  born(op, Kind::kPitched);
}

void Maker::registration(Op& op) {
  op.flags = random_.chance(60) ? below(4) : random_.chance(70) ? below(16) : below(32);
  op.value = random_.chance(60) ? 0 : below(5);
  op.form = 0;
  if (fault()) {
    op.form = byte(1 + random_.below(4));
    op.ref = any(anything);
    op.at = place(false);
  }
  if (contexts_ && random_.chance(30)) register_again(op);
  born(op, Kind::kRegistered);
}

void Maker::ending(Op& op) {
  const auto of = [](Kind kind) {
    return [kind](const Known& block) { return block.live && block.kind == kind; };
  };
  const auto of_device = [](const Known& block) {
    return block.live && (block.kind == Kind::kPlain || block.kind == Kind::kPitched ||
                          block.kind == Kind::kPooled);
  };
  switch (op.code) {
    case Code::kUnregister:
      op.ref = fault() ? any(anything) : any(of(Kind::kRegistered));
      op.at = place(true);
      if (op.at == 0 && random_.chance(50)) died(op.ref);
      return;
    case Code::kFree:
      return freed(op, of_device);
    case Code::kFreeHost:
      return freed(op, of(Kind::kHost));
    case Code::kFreeAsync:
      return freed(op, of(Kind::kPooled));
    default:  // of a mapping
      op.ref = any(of(Kind::kMapped));
      died(op.ref);
  }
}

// Frees a block that fits; now and then none, or another.
template <class Fits>
void Maker::freed(Op& op, Fits fits) {
  op.ref = fault() ? any(anything) : any(fits);
  if (random_.chance(4)) op.ref = 0;
  op.at = place(true);
  if (op.at == 0) died(op.ref);
}

// What one context registered, and another, perhaps, once more.
void Maker::register_again(Op& op) {
  const std::uint8_t name =
      any([](const Known& block) { return block.live && block.kind == Kind::kRegistered; });
  if (name == 0) return;
  op.form = 2;
  op.ref = name;
  op.at = 0;
  for (const Known& block : blocks_) {
    if (block.name == name) op.size = block.size;
  }
}

// Which contexts a peer copy names, now and then none.
std::uint8_t Maker::contexts_of_sides() {
  const auto one = [&] { return random_.chance(2) ? 3u : random_.below(3); };
  const unsigned to = one(), from = one();
  return byte((to << 1) | (from << 3));
}

void Maker::query(Op& op) {
  op.ref = any([&](const Known& block) { return block.live || random_.chance(5); });
  if (random_.chance(3)) op.ref = 0;
  op.at = op.ref ? place(false) : below(std::size(kNowhere));
  if (random_.chance(1)) op.faults |= kNullOut;
  const auto hosted = [](const Known& block) {
    return block.live && (block.kind == Kind::kHost || block.kind == Kind::kRegistered);
  };
  switch (op.code) {
    case Code::kDevicePointer:
    case Code::kHostFlags:
      if (random_.chance(75)) op.ref = any(hosted);
      op.flags = random_.chance(6) ? below(4) : 0;
      return;
    case Code::kAttribute:
      op.which = below(std::size(kAttributes));
      op.form = random_.chance(20) ? 3 : 0;
      return;
    case Code::kAttributes:
      op.which = below(std::size(kAttributes));
      op.value = random_.chance(90) ? below(21) : below(std::size(kAttributes));
      op.flags = random_.chance(90) ? below(21) : below(std::size(kAttributes));
      op.form = byte(below(3) + (random_.chance(20) ? 64 : 0));
      op.size = random_.chance(95) ? 2 : below(8);
      if (random_.chance(1)) op.faults |= kNullOut2;
      return;
    case Code::kSetAttribute:
      op.which = random_.chance(80) ? 4 : below(std::size(kAttributes));
      op.value = below(3);
      return;
    case Code::kRange:
      op.form = below(4);
      return;
    case Code::kRangeHandle:
      op.form = random_.chance(95) ? byte(1 + random_.below(3)) : 0;
      op.size = random_.chance(80) ? byte(16 + random_.below(6)) : below(std::size(kLengths));
      op.which = random_.chance(90) ? 0 : below(7);
      op.flags = random_.chance(12) ? 1 : 0;
      return;
    case Code::kAccess:
      op.which = random_.chance(60) ? 1 : below(4);
      op.value = random_.chance(80) ? 0 : below(4);
      return;
    default:
      return;
  }
}

// Destination and source: two blocks, or one and the recorder's own memory.
void Maker::sides(Op& op, bool needs_host) {
  const auto live = [](const Known& block) { return block.live; };
  op.ref = any(live);
  op.ref2 = any(live);
  op.at = random_.chance(70) ? 0 : place(false);
  op.at2 = random_.chance(70) ? 0 : place(false);
  if (!needs_host && !random_.chance(25)) return;
  // The recorder's buffer on one side.
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
  // Mostly what fits: a few bytes, all that is left, half of it.
  constexpr std::uint8_t kUsual[] = {1, 2, 3, 4, 5, 5, 6, 7, 8, 11, 11, 12, 12, 12, 26, 27};
  op.size = random_.chance(88) ? kUsual[below(std::size(kUsual))] : below(std::size(kLengths));
  op.height = random_.chance(75) ? byte(random_.chance(40) ? 0 : 2 + random_.below(2))
                                 : below(std::size(kHeights));
  op.pitch = random_.chance(60) ? byte(random_.below(2)) : below(std::size(kPitches));
  op.pitch2 = random_.chance(60) ? byte(random_.below(2)) : below(std::size(kPitches));
  // A pitch that is too large for anything fits one row.
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
      // Which side the host's is.
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

void Maker::pool(Op& op) {
  op.ref = pools_.empty() || random_.chance(15) ? std::uint8_t{0} : pools_[below(pools_.size())];
  op.which = random_.chance(90) ? 0 : below(7);
  if (random_.chance(1)) op.faults |= kNullOut;
  switch (op.code) {
    case Code::kPoolCreate:
      if (random_.chance(70)) op.which = 0;
      op.name = next_pool_;
      if (next_pool_ + 1u < kPools) ++next_pool_;
      op.value = below(2);
      op.size = random_.chance(75) ? 0 : byte(9 + random_.below(10));
      pools_.push_back(op.name);
      return;
    case Code::kPoolDestroy:
      std::erase(pools_, op.ref);
      return;
    case Code::kPoolAttribute:
      op.which = below(std::size(kPoolAttributes));
      op.form = random_.chance(15) ? 3 : 0;
      return;
    case Code::kPoolSetAttribute:
      op.which = random_.chance(85) ? below(8) : below(std::size(kPoolAttributes));
      op.value = below(std::size(kThresholds));
      return;
    case Code::kPoolTrim:
      op.value = below(std::size(kThresholds));
      return;
    case Code::kPoolSetAccess:
      op.value = random_.chance(50) ? 3 : below(4);
      op.flags = below(4);
      return;
    default:
      return;
  }
}

}  // namespace

Ops generate(std::uint64_t seed, std::uint64_t number) {
  Random random(seed * 1000003 + number);
  Maker maker(random);
  Ops ops;
  const std::uint32_t count = 15 + random.below(56);
  while (ops.size() < count) {
    ops.push_back(maker.make());
    canonicalise(ops.back());
  }
  return ops;
}

}  // namespace cuvmm::fuzz::plain
