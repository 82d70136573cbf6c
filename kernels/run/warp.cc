// SPDX-License-Identifier: Apache-2.0
#include "kernels/run/warp.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <utility>

#include "kernels/run/heap.h"
#include "kernels/run/mask.h"

namespace cuvmm::kernels {

namespace {

constexpr std::uint32_t kNowhere = ~0U;
// The number of instructions that the lanes at the lowest instruction may take before lanes ahead
// of them get a turn, and the length of that turn: a lane may wait for an effect of a lane ahead.
constexpr unsigned kDivergedTurn = 4096;

Mask bit(unsigned lane) { return Mask{1} << lane; }

template <class Body>
void each(Mask m, Body&& body) {
  for (; m != 0; m &= m - 1) body(static_cast<unsigned>(std::countr_zero(m)));
}

}  // namespace

Warp::Warp(BlockView& block, const Code& code, unsigned first, unsigned lanes)
    : block_(block),
      code_(code),
      first_(first),
      lanes_(lanes),
      registers_(std::size_t{code.registers} * kLanes),
      predicates_(code.predicates),
      local_(code.local_bytes * kLanes) {
  for (const Code::Constant& constant : code.constants) {
    std::fill_n(reg(constant.slot), kLanes, constant.value);
  }
  predicates_[0] = kAll;
  for (const auto& special : code.specials) set_special(special.slot, special.which);
}

namespace {

bool differs_by_block(Special which) {
  return which == Special::kCtaidX || which == Special::kCtaidY || which == Special::kCtaidZ ||
         which == Special::kSmid ||
         (which >= Special::kClusteridX && which <= Special::kClusterCtaidZ) ||
         which == Special::kClusterRank;
}

}  // namespace

void Warp::restart() {
  live_ = lanes_ == kLanes ? kAll : bit(lanes_) - 1;
  running_ = live_;
  at_barrier_ = gathering_ = 0;
  pc_ = 0;
  stop_ = kNowhere;
  diverged_ = 0;
  turned_ = waits_whole_ = false;
  cluster_phase_ = {};
  if (!code_.subroutines.empty()) stacks_.assign(kLanes, {});
  for (const auto& special : code_.specials) {
    if (differs_by_block(special.which)) set_special(special.slot, special.which);
  }
}

void Warp::run(std::uint64_t most) {
  if (running_ == 0 && !select()) return;
  if (block_.grid().watcher()) [[unlikely]]
    return run_as<true>(most);
  run_as<false>(most);
}

template <bool kWatched>
void Warp::run_as(std::uint64_t most) {
  Grid& grid = block_.grid();
  const Instruction* const code = code_.instructions.data();
  while (most != 0) {
    const auto lanes = static_cast<std::uint64_t>(std::popcount(running_));
    const Instruction* i = code + pc_;
    // Instructions of the warp until a branch, or until other lanes join.
    std::uint64_t turn = std::min<std::uint64_t>({std::max(i->straight, 1U), most, stop_ - pc_});
    if (stop_ != kNowhere) turn = std::min<std::uint64_t>(turn, kDivergedTurn - diverged_);
    if (turn * lanes > grid.steps_left()) [[unlikely]] {
      turn = grid.steps_left() / lanes;
      if (turn == 0) return fail_for_time(*i);
    }
    grid.spend(turn * lanes);
    most -= turn;
    if (i->flow == Flow::kNone) {
      for (const Instruction* const end = i + turn; i != end; ++i) {
        const Mask m = running_ & (predicates_[i->guard] ^ i->invert);
        if constexpr (kWatched) {
          if (m != 0 && i->effect != 0) grid.watcher()->before(*this, *i, m);
        }
        if (m != 0) i->run(*this, *i, m);
        if (grid.failed()) [[unlikely]]
          return;
      }
      pc_ += static_cast<std::uint32_t>(turn);
    } else {
      const Mask m = running_ & (predicates_[i->guard] ^ i->invert);
      if constexpr (kWatched) {
        if (m != 0 && i->effect != 0) grid.watcher()->before(*this, *i, m);
      }
      step(*i, m);
      if (grid.failed()) [[unlikely]]
        return;
    }
    if (stop_ != kNowhere) diverged_ += static_cast<unsigned>(turn);
    if (pc_ >= stop_ || running_ == 0 || (stop_ != kNowhere && diverged_ >= kDivergedTurn)) {
      park();
      if (!select()) return;
    }
  }
  // Returns, so that other warps of the block have a turn.
}

void Warp::fail_for_time(const Instruction& i) {
  fail(i, static_cast<unsigned>(std::countr_zero(running_)), CUDA_ERROR_LAUNCH_TIMEOUT,
       "it did not end after " + std::to_string(block_.grid().steps()) +
           " instructions (CUVMM_KERNEL_STEPS)");
}

void Warp::step(const Instruction& i, Mask m) {
  switch (i.flow) {
    case Flow::kBranch:
      return branch(i, m);
    case Flow::kTable:
      return table(i, m);
    case Flow::kExit:
      return exit(m);
    case Flow::kConverge:
      return converge(i, m);
    case Flow::kCall:
      return call(i, m);
    case Flow::kReturn:
      return leave(m);
    case Flow::kClusterArrive:
      return arrive_in_cluster(m);
    case Flow::kClusterWait:
      return wait_for_cluster(m);
    default:
      return barrier(i, m);
  }
}

void Warp::park() {
  put_pc(running_, pc_);
  running_ = 0;
}

void Warp::put_pc(Mask m, std::uint32_t pc) {
  for (unsigned lane = 0; lane < kLanes; ++lane) pc_of_[lane] = is_set(m, lane) ? pc : pc_of_[lane];
}

// Selects the lanes that are behind all others, so that lanes converge again; now and then it
// selects other lanes.
bool Warp::select() {
  Mask ready = live_ & ~at_barrier_ & ~gathering_;
  if (ready == 0 && wake()) ready = live_ & ~at_barrier_ & ~gathering_;
  if (ready == 0) return false;
  std::uint32_t first = kNowhere;
  turned_ = diverged_ >= kDivergedTurn;
  if (turned_) {
    diverged_ = 0;
    rotor_ = (rotor_ + 1) % kLanes;
    const auto turned = std::countr_zero(std::rotr(ready, static_cast<int>(rotor_)));
    rotor_ = (rotor_ + static_cast<unsigned>(turned)) % kLanes;
    first = pc_of_[rotor_];
  } else {
    for (unsigned lane = 0; lane < kLanes; ++lane)
      first = std::min(first, is_set(ready, lane) ? pc_of_[lane] : kNowhere);
  }
  running_ = lanes_where(ready, [&](unsigned lane) { return pc_of_[lane] == first; });
  stop_ = kNowhere;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const bool ahead = is_set(ready, lane) && pc_of_[lane] > first;
    stop_ = std::min(stop_, ahead ? pc_of_[lane] : kNowhere);
  }
  if (running_ != ready && stop_ == kNowhere) stop_ = kNowhere - 1;  // all others are behind
  pc_ = first;
  return true;
}

// All lanes of a group are there: they carry the instruction out and go on.
void Warp::meet(const Instruction& i, Mask group) {
  if (i.run) i.run(*this, i, group);
  if (Watcher* const watcher = block_.grid().watcher()) watcher->met(*this, i, group);
  gathering_ &= ~group;
  each(group, [&](unsigned lane) { ++pc_of_[lane]; });
}

// Wakes lanes that waited only for lanes which have ended meanwhile.
bool Warp::wake() {
  bool woken = false;
  each(gathering_, [&](unsigned lane) {
    if (!(gathering_ & bit(lane))) return;
    const Instruction& i = code_.instructions[pc_of_[lane]];
    const Mask group = together(i, 0, lane);
    if (group == 0) return;
    meet(i, group);
    woken = true;
  });
  return woken;
}

// The group of a lane, once all of its live lanes have arrived; else 0. The lanes in `arrived` have
// just arrived.
Mask Warp::together(const Instruction& i, Mask arrived, unsigned lane) {
  const Mask named = static_cast<Mask>(reg(i.e)[lane]) & live_;
  Mask there = arrived;
  each(gathering_, [&](unsigned other) {
    const Instruction& its = code_.instructions[pc_of_[other]];
    // Lanes that only wait may do so at different instructions.
    const bool same = &its == &i || (!its.run && !i.run);
    if (same) there |= bit(other);
  });
  Mask group = 0;
  each(there, [&](unsigned other) {
    const Instruction& its = arrived & bit(other) ? i : code_.instructions[pc_of_[other]];
    if ((static_cast<Mask>(reg(its.e)[other]) & live_) == named) group |= bit(other);
  });
  return (named & ~group) == 0 ? group : 0;
}

void Warp::converge(const Instruction& i, Mask m) {
  const Mask pass = running_ & ~m;
  each(running_, [&](unsigned lane) { pc_of_[lane] = pc_; });
  Mask left = m;
  while (left != 0) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    const Mask group = together(i, left, lane);
    if (group == 0) {
      gathering_ |= bit(lane);
      left &= ~bit(lane);
      continue;
    }
    meet(i, group);
    left &= ~group;
  }
  each(pass, [&](unsigned lane) { ++pc_of_[lane]; });
  // Nearly always all lanes are together and simply continue.
  if ((gathering_ | at_barrier_) == 0 && stop_ == kNowhere) {
    ++pc_;
    return;
  }
  running_ = 0;
}

void Warp::branch(const Instruction& i, Mask m) {
  const Mask others = running_ & ~m;
  if (m == 0) {
    ++pc_;
  } else if (others == 0) {
    pc_ = i.target;
  } else {
    const bool back = i.target <= pc_;
    const std::uint32_t first = back ? i.target : pc_ + 1, later = back ? pc_ + 1 : i.target;
    put_pc(m, i.target);
    put_pc(others, pc_ + 1);
    running_ = 0;
    // The lanes that are behind go on, unless other lanes already wait where they are. (A branch to
    // the next instruction is no branch.)
    if (turned_ || first >= stop_ || first == later) return;
    running_ = back ? m : others;
    pc_ = first;
    stop_ = std::min(stop_, later);
  }
}

void Warp::table(const Instruction& i, Mask m) {
  const auto& targets = code_.tables[i.target];
  each(running_, [&](unsigned lane) {
    if (!(m & bit(lane))) {
      pc_of_[lane] = pc_ + 1;
      return;
    }
    const auto index = static_cast<std::uint32_t>(reg(i.a)[lane]);
    if (index >= targets.size()) {
      return fail(i, lane, CUDA_ERROR_INVALID_PC,
                  "a branch to entry " + std::to_string(index) + " of a table of " +
                      std::to_string(targets.size()));
    }
    pc_of_[lane] = targets[index];
  });
  running_ = 0;
}

void Warp::exit(Mask m) {
  live_ &= ~m;
  running_ &= ~m;
  ++pc_;
  if (m == 0) return;
  const auto threads = static_cast<unsigned>(std::popcount(m));
  block_.threads_ended(threads);
  Cluster& cluster = block_.cluster();
  const Mask arrived = cluster.has_arrived() ? arrived_in_cluster(m) : 0;
  cluster.threads_ended(threads, static_cast<unsigned>(std::popcount(arrived)));
}

// The lanes that have arrived in the present phase of the cluster's barrier.
Mask Warp::arrived_in_cluster(Mask m) {
  const std::uint32_t phase = block_.cluster().phase();
  return lanes_where(m, [&](unsigned lane) { return cluster_phase_[lane] == phase; });
}

void Warp::arrive_in_cluster(Mask m) {
  ++pc_;
  if (m == 0) return;
  Cluster& cluster = block_.cluster();
  each(m, [&](unsigned lane) { cluster_phase_[lane] = cluster.phase(); });
  cluster.arrive(static_cast<unsigned>(std::popcount(m)));
}

void Warp::wait_for_cluster(Mask m) {
  const Mask waits = arrived_in_cluster(m);
  if (waits == 0) {
    ++pc_;
    return;
  }
  waits_whole_ = whole(waits);
  put_pc(running_ & ~waits, pc_ + 1);
  wait_at(Cluster::kBarrier, waits);
}

// The lanes wait at the present instruction.
void Warp::wait_at(unsigned barrier, Mask m) {
  put_pc(m, pc_);
  for (unsigned each = 0; each < kLanes; ++each) {
    if (is_set(m, each)) barrier_of_[each] = static_cast<std::uint8_t>(barrier);
  }
  at_barrier_ |= m;
  running_ = 0;
}

void Warp::barrier(const Instruction& i, Mask m) {
  const Mask pass = running_ & ~m;
  if (m == 0) {
    ++pc_;
    return;
  }
  const auto lane = static_cast<unsigned>(std::countr_zero(m));
  const unsigned number = static_cast<unsigned>(reg(i.a)[lane]) % BlockView::kBarriers;
  const unsigned expected = i.b ? static_cast<unsigned>(reg(i.b)[lane]) : 0;
  if (Watcher* const watcher = block_.grid().watcher())
    watcher->arrives(*this, i, m, number, expected);
  const Mask with = m & (predicates_[i.r] ^ i.invert_read);
  const auto threads = static_cast<unsigned>(std::popcount(m));
  const auto true_threads = static_cast<unsigned>(std::popcount(with));
  if (i.flow == Flow::kArrive) {
    ++pc_;
    block_.arrive(number, threads, expected, true_threads);
    return;
  }
  waits_whole_ = whole(m);
  put_pc(pass, pc_ + 1);
  wait_at(number, m);
  block_.arrive(number, threads, expected, true_threads);
}

void Warp::release(unsigned number) {
  if (waits_whole_ && at_barrier_ == live_ && live_ != 0) {
    const auto lane = static_cast<unsigned>(std::countr_zero(live_));
    if (barrier_of_[lane] != number) return;
    const Instruction& i = code_.instructions[pc_of_[lane]];
    if (i.run) i.run(*this, i, live_);
    at_barrier_ = 0;
    running_ = live_;
    pc_ = pc_of_[lane] + 1;
    stop_ = kNowhere;
    turned_ = waits_whole_ = false;
    return;
  }
  each(at_barrier_, [&](unsigned lane) {
    if (barrier_of_[lane] != number) return;
    const Instruction& i = code_.instructions[pc_of_[lane]];
    if (i.run) i.run(*this, i, bit(lane));
    at_barrier_ &= ~bit(lane);
    ++pc_of_[lane];
  });
  if (running_ != 0) stop_ = 0;  // lanes of this warp were released while others run: select anew
}

char* Warp::local(std::uint64_t offset, unsigned lane, unsigned size) {
  if (offset >= code_.local_bytes && !stacks_.empty()) {
    std::vector<char>& frames = stacks_[lane].frames;
    const std::uint64_t at = offset - code_.local_bytes;
    return at <= frames.size() && size <= frames.size() - at ? &frames[at] : nullptr;
  }
  if (offset > code_.local_bytes || size > code_.local_bytes - offset) return nullptr;
  return &local_[lane * code_.local_bytes + offset];
}

char* Warp::span(const Instruction& i, std::uint64_t address, unsigned size, unsigned count,
                 bool writes) {
  if ((address & (size - 1)) != 0) return nullptr;
  const std::uint64_t bytes = std::uint64_t{size} * count;
  if (i.space == Space::kShared) {
    std::vector<char>& shared = block_.shared();
    const bool inside = address <= shared.size() && bytes <= shared.size() - address;
    return inside ? &shared[address] : nullptr;
  }
  if (i.space == Space::kParam && !writes) {
    const std::vector<char>& all = block_.grid().parameters();
    const bool inside = address <= all.size() && bytes <= all.size() - address;
    return inside ? const_cast<char*>(&all[address]) : nullptr;
  }
  const bool global = i.space == Space::kGlobal || i.space == Space::kConst ||
                      (i.space == Space::kNone && (address & kWindowMask) == 0);
  return global ? block_.grid().memory().at(address, static_cast<unsigned>(bytes), writes)
                : nullptr;
}

char* Warp::at(const Instruction& i, unsigned lane, std::uint64_t address, unsigned size,
               bool writes) {
  // Sizes are powers of two.
  if ((address & (size - 1)) != 0) [[unlikely]] {
    char text[96];
    std::snprintf(text, sizeof text, "address 0x%llx is not a multiple of its %u bytes",
                  static_cast<unsigned long long>(address), size);
    fail(i, lane, CUDA_ERROR_MISALIGNED_ADDRESS, text);
    return nullptr;
  }
  Space space = i.space;
  std::uint64_t offset = address;
  if (space == Space::kNone) {
    offset = address & ~kWindowMask;
    space = space_at(address);
  }
  char* bytes = nullptr;
  Grid& grid = block_.grid();
  const char* where = "shared";
  std::uint64_t room = 0;
  switch (space) {
    case Space::kShared: {
      const std::uint64_t rank = offset >> kRankAt;
      ClusterBlock* const owner = rank == 0 ? &block_ : block_.cluster().block(rank - 1);
      if (rank != 0) where = "another block's shared";
      if (!owner) break;
      offset &= kInBlock;
      room = owner->shared().size();
      if (offset <= room && size <= room - offset) bytes = &owner->shared()[offset];
      break;
    }
    case Space::kLocal:
      where = "local";
      room = code_.local_bytes;
      bytes = local(offset, lane, size);
      break;
    case Space::kParam:
      where = "parameter";
      room = grid.parameters().size();
      if (!writes && offset <= room && size <= room - offset) {
        bytes = const_cast<char*>(&grid.parameters()[offset]);
      }
      break;
    default:
      if ((address & kWindowMask) == kWorkspaceWindow && grid.shape().together) {
        where = "workspace";
        room = Grid::kWorkspaceBytes;
        offset = address & ~kWindowMask;
        if (offset <= room && size <= room - offset) bytes = grid.workspace() + offset;
        break;
      }
      where = nullptr;
      bytes = (address & kWindowMask) == kHeapWindow ? Heap::get().at(address, size)
                                                     : grid.memory().at(address, size, writes);
  }
  if (bytes) [[likely]] {
    if (writes && !where && grid.watcher()) grid.watcher()->writes(address, size);
    return bytes;
  }
  char text[160];
  std::snprintf(text, sizeof text, "illegal %s of %u bytes at 0x%llx: ", writes ? "write" : "read",
                size, static_cast<unsigned long long>(where ? offset : address));
  std::string what = text;
  if (where) {
    what += "there are " + std::to_string(room) + " bytes of " + where + " memory";
  } else {
    what += grid.memory().why_not(address, size, writes);
  }
  Fault failed = fault(i, lane, where ? Wrong::kSpace : Wrong::kOutside, std::move(what));
  failed.code = CUDA_ERROR_ILLEGAL_ADDRESS, failed.address = where ? 0 : address;
  grid.fail(std::move(failed));
  return nullptr;
}

const Instruction* Warp::waits_at() const {
  const Mask waits = at_barrier_ | gathering_;
  return waits == 0 ? nullptr : &code_.instructions[pc_of_[std::countr_zero(waits)]];
}

}  // namespace cuvmm::kernels
