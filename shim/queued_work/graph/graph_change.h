// SPDX-License-Identifier: Apache-2.0
// Changes to an executable graph; the session calls these after the driver has accepted the change.
#pragma once

#include <memory>
#include <vector>

#include "api/calls.h"
#include "shim/queued_work/queued_work.h"

namespace cuvmm::shim {

/// The uses that a change adds to nodes, of memory that their graph allocates. Null: the change
/// adds no such use.
struct OwnUses {
  std::shared_ptr<const OrderedGraph> graph;
  std::vector<GraphOrder::Use> uses;
  bool as_captured = false;  ///< no call has changed the nodes since they were made
  /// The nodes that have other uses now, of any memory: all nodes of the executable graph after an
  /// update. Empty while cuvmm knows the owners of no memory that graphs use.
  CUgraphExec exec = nullptr;
  std::vector<NodeUses> changed = {};
  bool updated = false;
};

OwnUses change_graph(QueuedWork& work, const calls::GraphExecUpdate& call);
OwnUses change_graph(QueuedWork& work, const calls::GraphExecUpdate_v2& call);
OwnUses change_graph(QueuedWork& work, const calls::GraphExecKernelNodeSetParams& call);
OwnUses change_graph(QueuedWork& work, const calls::GraphExecKernelNodeSetParams_v1& call);
OwnUses change_graph(QueuedWork& work, const calls::GraphExecMemcpyNodeSetParams& call);
OwnUses change_graph(QueuedWork& work, const calls::GraphExecMemsetNodeSetParams& call);
OwnUses change_graph(QueuedWork& work, const calls::GraphExecBatchMemOpNodeSetParams& call);
OwnUses change_graph(QueuedWork& work, const calls::GraphExecChildGraphNodeSetParams& call);
OwnUses change_graph(QueuedWork& work, const calls::GraphExecNodeSetParams& call);
OwnUses change_graph(QueuedWork& work, const calls::GraphNodeSetEnabled& call);

}  // namespace cuvmm::shim
