// SPDX-License-Identifier: Apache-2.0
// The number of threads of a launch, and their blocks.
#pragma once

#include <cstdint>

namespace cuvmm::kernels {

struct Shape {
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  unsigned dynamic_shared = 0;      ///< bytes
  bool together = false;            ///< a cooperative launch: all blocks run at a time
  unsigned cluster[3] = {1, 1, 1};  ///< blocks of a cluster, which divide the grid
  bool has_clusters = false;        ///< the launch or the kernel names the size of a cluster

  unsigned cluster_blocks() const { return cluster[0] * cluster[1] * cluster[2]; }
  unsigned threads() const { return block[0] * block[1] * block[2]; }
  std::uint64_t blocks() const { return std::uint64_t{grid[0]} * grid[1] * grid[2]; }
};

}  // namespace cuvmm::kernels
