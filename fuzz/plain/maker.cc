// SPDX-License-Identifier: Apache-2.0
// Chooses the next call, and makes the calls of memory, of pools, and queries.
#include "fuzz/plain/maker.h"

#include <algorithm>

namespace cuvmm::fuzz::plain {

namespace {

bool anything(const Known&) { return true; }

// Whether the call ends a block.
bool ends(Code code) {
  return code == Code::kUnregister || code == Code::kFree || code == Code::kFreeHost ||
         code == Code::kUnmap || code == Code::kFreeAsync;
}

}  // namespace

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
    if (ends(op.code) && op.ref == 0 && !random_.chance(10)) {  // no block to end
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

// Frees a block that fits; sometimes none, or another one.
template <class Fits>
void Maker::freed(Op& op, Fits fits) {
  op.ref = fault() ? any(anything) : any(fits);
  if (random_.chance(4)) op.ref = 0;
  op.at = place(true);
  if (op.at == 0) died(op.ref);
}

// Registers memory again, perhaps in another context.
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

}  // namespace cuvmm::fuzz::plain
