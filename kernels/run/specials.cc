// SPDX-License-Identifier: Apache-2.0
// The values of special registers.
#include "kernels/run/warp.h"

namespace cuvmm::kernels {

namespace {

// The block's place in its cluster, and the cluster's in the grid.
std::uint64_t cluster_special(Special which, const Shape& shape, const BlockView& block) {
  const auto axis = static_cast<unsigned>(which) % 3;
  const unsigned at = block.index()[axis];
  switch (which) {
    case Special::kClusteridX:
    case Special::kClusteridY:
    case Special::kClusteridZ:
      return at / shape.cluster[axis];
    case Special::kNclusteridX:
    case Special::kNclusteridY:
    case Special::kNclusteridZ:
      return shape.grid[axis] / shape.cluster[axis];
    case Special::kClusterCtaidX:
    case Special::kClusterCtaidY:
    case Special::kClusterCtaidZ:
      return at % shape.cluster[axis];
    case Special::kClusterNctaidX:
    case Special::kClusterNctaidY:
    case Special::kClusterNctaidZ:
      return shape.cluster[axis];
    case Special::kClusterRank:
      return block.rank();
    case Special::kClusterBlocks:
      return shape.cluster_blocks();
    case Special::kHasClusters:
      return shape.has_clusters ? 1 : 0;
    default:
      return 0;
  }
}

}  // namespace

void Warp::set_special(std::uint32_t slot, Special which) {
  const Shape& shape = block_.grid().shape();
  const unsigned* index = block_.index();
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const unsigned thread = first_ + lane;
    const Mask own = Mask{1} << lane;
    const auto value = [&]() -> std::uint64_t {
      const auto axis = static_cast<unsigned>(which) % 3;
      switch (which) {
        case Special::kTidX:
          return thread % shape.block[0];
        case Special::kTidY:
          return thread / shape.block[0] % shape.block[1];
        case Special::kTidZ:
          return thread / shape.block[0] / shape.block[1];
        case Special::kNtidX:
        case Special::kNtidY:
        case Special::kNtidZ:
          return shape.block[axis];
        case Special::kCtaidX:
        case Special::kCtaidY:
        case Special::kCtaidZ:
          return index[axis];
        case Special::kNctaidX:
        case Special::kNctaidY:
        case Special::kNctaidZ:
          return shape.grid[axis];
        case Special::kClusteridX:
        case Special::kClusteridY:
        case Special::kClusteridZ:
        case Special::kNclusteridX:
        case Special::kNclusteridY:
        case Special::kNclusteridZ:
        case Special::kClusterCtaidX:
        case Special::kClusterCtaidY:
        case Special::kClusterCtaidZ:
        case Special::kClusterNctaidX:
        case Special::kClusterNctaidY:
        case Special::kClusterNctaidZ:
        case Special::kClusterRank:
        case Special::kClusterBlocks:
        case Special::kHasClusters:
          return cluster_special(which, shape, block_);
        case Special::kLaneid:
          return lane;
        case Special::kWarpid:
          return first_ / kLanes;
        case Special::kNwarpid:
          return (shape.threads() + kLanes - 1) / kLanes;
        case Special::kSmid:
          return (index[0] + std::uint64_t{index[1]} * shape.grid[0]) % 132;
        case Special::kNsmid:
          return 132;
        case Special::kGridid:
          return block_.grid().number();
        case Special::kWorkspaceLow:
          return 0;
        case Special::kWorkspaceHigh:
          return shape.together ? kWorkspaceWindow >> 32 : 0;
        case Special::kLanemaskEq:
          return own;
        case Special::kLanemaskLt:
          return own - 1;
        case Special::kLanemaskLe:
          return own | (own - 1);
        case Special::kLanemaskGe:
          return ~(own - 1);
        case Special::kLanemaskGt:
          return ~(own | (own - 1));
        case Special::kDynamicShared:
          return shape.dynamic_shared;
        case Special::kTotalShared:
          return code_.shared_bytes + shape.dynamic_shared;
        case Special::kWarpSize:
          return kLanes;
      }
      return 0;
    }();
    reg(slot)[lane] = value;
  }
}

Fault Warp::fault(const Instruction& i, unsigned lane, Wrong wrong, std::string what) const {
  const unsigned *const size = block_.grid().shape().block, thread = first_ + lane;
  Fault fault{.what = std::move(what), .line = i.line, .wrong = wrong};
  std::copy_n(block_.index(), 3, fault.block);
  fault.thread[0] = thread % size[0];
  fault.thread[1] = thread / size[0] % size[1];
  fault.thread[2] = thread / size[0] / size[1];
  return fault;
}

void Warp::fail(const Instruction& i, unsigned lane, CUresult code, std::string what,
                std::uint64_t address) {
  Fault failed = fault(i, lane, Wrong::kNone, std::move(what));
  failed.code = code, failed.address = address;
  block_.grid().fail(std::move(failed));
}

}  // namespace cuvmm::kernels
