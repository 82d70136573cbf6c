// SPDX-License-Identifier: Apache-2.0
// 32 threads that run together while they are at the same instruction.
#pragma once

#include <cuda.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/run/block_view.h"
#include "kernels/run/code.h"

namespace cuvmm::kernels {

class Warp {
 public:
  /// `first`: the linear number of the warp's first thread; `lanes`: its number of threads.
  Warp(BlockView& block, const Code& code, unsigned first, unsigned lanes);

  /// Starts again from the beginning, in another block of the grid.
  void restart();
  /// Runs until every lane has ended or waits, until a fault, or for about `most` instructions.
  void run(std::uint64_t most);

  bool ended() const { return live_ == 0; }
  Mask live() const { return live_; }
  /// The state of threads and of memory that a Run uses.
  std::uint64_t* reg(std::uint32_t slot) { return &registers_[std::size_t{slot} * kLanes]; }
  Mask& predicate(std::uint32_t slot) { return predicates_[slot]; }
  BlockView& block() { return block_; }
  const Code& code() const { return code_; }
  unsigned first_thread() const { return first_; }

  /// The bytes of an access by a lane; null where the access is a fault, which the call records.
  char* at(const Instruction& i, unsigned lane, std::uint64_t address, unsigned size, bool writes);
  /// The bytes of neighbouring accesses, each of `size` bytes, as one; null where they are not to
  /// be had at once, which is no fault.
  char* span(const Instruction& i, std::uint64_t address, unsigned size, unsigned count,
             bool writes);
  /// The bytes around an access, of its kind; `room` 0 where they are not to be had at once, which
  /// is no fault.
  struct Reach {
    std::uint64_t begin = 0, room = 0;  ///< addresses from `begin` on, in bytes
    char* bytes = nullptr;
  };
  Reach reach(const Instruction& i, std::uint64_t address, unsigned size, bool writes) {
    const std::uint64_t window = address & kWindowMask;
    if (i.space == Space::kShared || (i.space == Space::kNone && window == kSharedWindow)) {
      std::vector<char>& shared = block_.shared();
      return {i.space == Space::kShared ? 0 : window, shared.size(), shared.data()};
    }
    if (window != 0 || (i.space != Space::kGlobal && i.space != Space::kNone)) return {};
    const Memory::Window* const found = block_.grid().memory().around(address, size, writes);
    return found ? Reach{found->begin, found->end - found->begin, found->bytes} : Reach{};
  }
  /// As at(), for the accesses that most programs make; null: at() has to decide.
  char* near(const Instruction& i, unsigned lane, std::uint64_t address, unsigned size,
             bool writes) {
    Space space = i.space;
    std::uint64_t offset = address;
    if (space == Space::kNone) {
      offset = address & ~kWindowMask;
      space = space_at(address);
    }
    if ((address & (size - 1)) != 0) return nullptr;
    if (space == Space::kGlobal) return block_.grid().memory().at(address, size, writes);
    if (space == Space::kShared) {
      const std::size_t room = block_.shared().size();
      return offset <= room && size <= room - offset ? &block_.shared()[offset] : nullptr;
    }
    if (space != Space::kLocal || offset > code_.local_bytes || size > code_.local_bytes - offset)
      return nullptr;
    return &local_[lane * code_.local_bytes + offset];
  }
  /// Records a fault of a lane; the first fault of a grid counts.
  void fail(const Instruction& i, unsigned lane, CUresult code, std::string what,
            std::uint64_t address = 0);
  /// A mistake of a lane, with the place of its thread.
  Fault fault(const Instruction& i, unsigned lane, Wrong wrong, std::string what) const;
  /// The instruction at which lanes wait for each other or for others; null: no lane waits.
  const Instruction* waits_at() const;

  /// Releases the lanes that wait at a barrier; the barrier's instruction runs with the result of
  /// its reduction.
  void release(unsigned barrier);

 private:
  template <bool kWatched>
  void run_as(std::uint64_t most);
  bool select();
  bool wake();
  void meet(const Instruction& i, Mask group);
  void park();
  void put_pc(Mask m, std::uint32_t pc);
  void fail_for_time(const Instruction& i);
  void step(const Instruction& i, Mask m);
  void branch(const Instruction& i, Mask m);
  void table(const Instruction& i, Mask m);
  void exit(Mask m);
  void barrier(const Instruction& i, Mask m);
  void converge(const Instruction& i, Mask m);
  void call(const Instruction& i, Mask m);
  void leave(Mask m);
  Mask arrived_in_cluster(Mask m);
  void arrive_in_cluster(Mask m);
  void wait_for_cluster(Mask m);
  void wait_at(unsigned barrier, Mask m);
  const Subroutine* callee(const Instruction& i, const Call& call, unsigned lane);
  bool copy_local(unsigned lane, std::uint64_t from, std::uint64_t to, std::uint64_t size);
  Mask together(const Instruction& i, Mask arrived, unsigned lane);
  void set_special(std::uint32_t slot, Special which);
  bool whole(Mask m) const { return m == live_ && running_ == live_; }
  char* local(std::uint64_t offset, unsigned lane, unsigned size);

  BlockView& block_;
  const Code& code_;
  unsigned first_, lanes_;
  std::vector<std::uint64_t> registers_;
  std::vector<Mask> predicates_;
  std::vector<char> local_;
  /// The frames of a lane's subroutines, and the registers that the calls keep.
  struct Stack {
    std::vector<char> frames;
    std::vector<std::uint64_t> saved;
  };
  std::vector<Stack> stacks_;                  ///< of each lane; none where no subroutine is called
  std::array<std::uint32_t, kLanes> pc_of_{};  ///< of lanes that are not running
  std::array<std::uint8_t, kLanes> barrier_of_{};
  /// The phase of the cluster's barrier in which a lane last arrived; 0: it never did.
  std::array<std::uint32_t, kLanes> cluster_phase_{};
  Mask live_ = 0;
  Mask running_ = 0;  ///< the lanes that run, at pc_
  Mask at_barrier_ = 0;
  Mask gathering_ = 0;  ///< lanes that wait for other lanes
  std::uint32_t pc_ = 0;
  std::uint32_t stop_ = 0;  ///< the lowest position of other lanes that are ahead
  unsigned diverged_ = 0;   ///< instructions since other lanes last had a turn
  unsigned rotor_ = 0;
  bool turned_ = false;       ///< lanes run that are not behind all others
  bool waits_whole_ = false;  ///< all live lanes wait at one instruction for a barrier
};

}  // namespace cuvmm::kernels
