// SPDX-License-Identifier: Apache-2.0
// The memory that the nodes of a graph use.
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

/// The memory that one node uses, as far as cuvmm follows the memory.
struct NodeUses {
  CUgraphNode node = nullptr;  ///< of the graph that the program instantiated
  CUgraphNodeType type{};
  int depth = 0;  ///< the number of child graphs that it lies in
  bool enabled = true;
  /// The host may learn from this node that nodes before it are over, while later nodes still run.
  bool tells = false;
  bool waits = false;  ///< for work outside of the graph
  std::vector<UsedRange> ranges;
  std::size_t of_host = 0;  ///< of the ranges, the last ones that the program gave as memory of the
                            ///< host
  std::vector<LaunchArgument> arguments;  ///< pointers by type, and the first addresses of copies
                                          ///< and fills
  const std::string* function = nullptr;  ///< name of a kernel, null if unknown; lives as long as
                                          ///< the process
};

/// The memory that a launch of the graph uses.
struct GraphUses {
  Uses::Shared ranges;  ///< never null
  std::vector<LaunchArgument> arguments;
  bool tells = false;
  bool waits = false;  ///< for work outside of the graph
};

/// Reads the uses of nodes by questions to the driver. A node that the driver does not describe
/// gets no uses.
class NodeReader {
 public:
  static constexpr int kDeepest = 16;  ///< child graphs inside of child graphs

  /// `host`: memory that the host reads and writes while kernels do. Null: the reader does not look
  /// for words by which nodes tell the host.
  NodeReader(const Questions& ask, Layouts& layouts, const TensorMaps& maps, const Bounds& bounds,
             const Bounds* host = nullptr)
      : ask_(ask), layouts_(layouts), maps_(maps), bounds_(bounds), host_(host) {}

  /// The nodes of a graph that lies `depth` child graphs deep; the nodes of a child graph follow
  /// its node.
  std::vector<NodeUses> graph(CUgraph graph, int depth = 0) const;

  /// The functions that kernel nodes run, those of child graphs included.
  std::vector<std::uint64_t> functions(CUgraph graph) const;

  /// The uses of one node, without child graphs.
  NodeUses node(CUgraphNode node, CUgraphNodeType type) const;
  NodeUses kernel(CUfunction function, void** parameters, void** extra) const;
  NodeUses copy(const CUDA_MEMCPY3D& copy) const;
  NodeUses fill(CUdeviceptr to, std::size_t pitch, std::size_t element, std::size_t width,
                std::size_t height) const;
  NodeUses batch(CUstreamBatchMemOpParams* operations, unsigned count) const;

 private:
  void read(CUgraph graph, int depth, std::vector<NodeUses>& out) const;
  /// Calls body(node, type, depth) for each node, those of child graphs behind their node.
  template <class Body>
  void each_node(CUgraph graph, int depth, const Body& body) const;
  void add(NodeUses& to, const UsedRange& range) const;
  /// Whether the host sees words that a kernel writes there. Asks the driver.
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
