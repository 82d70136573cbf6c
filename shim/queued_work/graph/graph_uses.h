// SPDX-License-Identifier: Apache-2.0
// What the nodes of a graph use.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "rulebook/check/touch.h"
#include "rulebook/order/check_work.h"
#include "rulebook/order/uses.h"
#include "shim/base/bounds.h"
#include "shim/queued_work/arguments/layouts.h"
#include "shim/queued_work/arguments/tensor_maps.h"

namespace cuvmm::shim {

/// What one node uses of memory that matters.
struct NodeUses {
  CUgraphNode node = nullptr;  ///< of the graph that was instantiated
  int depth = 0;               ///< how many child graphs it lies in
  bool enabled = true;
  /// The host may learn from it that nodes before it are over, while later ones still run.
  bool tells = false;
  bool waits = false;  ///< for what is not in the graph
  std::vector<UsedRange> ranges;
  std::vector<LaunchArgument> arguments;  ///< pointers by type, and where copies and fills begin
  const std::string* function = nullptr;  ///< name of a kernel, null unknown; lives for ever
};

/// What a launch of the graph uses.
struct GraphUses {
  Uses::Shared ranges;  ///< never null
  std::vector<LaunchArgument> arguments;
  bool tells = false;
  bool waits = false;  ///< for what is not in the graph
};

/// Reads nodes, and asks the driver for what they do. What it does not describe uses nothing.
class NodeReader {
 public:
  static constexpr int kDeepest = 16;  ///< child graphs in child graphs

  /// `host`: memory that the host reads as kernels do. Null: what nodes tell the host is not read.
  NodeReader(const Questions& ask, Layouts& layouts, const TensorMaps& maps, const Bounds& bounds,
             const Bounds* host = nullptr)
      : ask_(ask), layouts_(layouts), maps_(maps), bounds_(bounds), host_(host) {}

  /// The nodes of a graph that lies `depth` child graphs deep; a child graph's follow its node.
  std::vector<NodeUses> graph(CUgraph graph, int depth = 0) const;

  /// One node, without child graphs.
  NodeUses node(CUgraphNode node, CUgraphNodeType type) const;
  NodeUses kernel(CUfunction function, void** parameters, void** extra) const;
  NodeUses copy(const CUDA_MEMCPY3D& copy) const;
  NodeUses fill(CUdeviceptr to, std::size_t pitch, std::size_t element, std::size_t width,
                std::size_t height) const;
  NodeUses batch(CUstreamBatchMemOpParams* operations, unsigned count) const;

 private:
  void read(CUgraph graph, int depth, std::vector<NodeUses>& out) const;
  void add(NodeUses& to, const UsedRange& range) const;
  /// Whether the host sees what is written there. Asks the driver.
  bool reaches_host(Address address) const;

  const Questions& ask_;
  Layouts& layouts_;
  const TensorMaps& maps_;
  const Bounds& bounds_;
  const Bounds* host_;
};

/// The bytes from the first to the last that a copy or fill touches.
UsedRange extent(const Touch& touch);

}  // namespace cuvmm::shim
