// SPDX-License-Identifier: Apache-2.0
// The order of a graph's own nodes: memory that a node allocates, and the nodes that use it.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "rulebook/base/violation.h"
#include "rulebook/model/model.h"
#include "rulebook/order/uses.h"

namespace cuvmm {

/// A graph that allocates memory. Its nodes have numbers from 0 on; the nodes of child graphs are
/// numbered with them.
struct GraphOrder {
  struct Allocation {
    std::size_t node = 0;
    UsedRange memory;
    int device = -1;  ///< on which the memory lies, -1 unknown
  };
  struct Free {
    std::size_t node = 0;
    Address address = 0;
  };
  struct Use {
    std::size_t node = 0;
    UsedRange range;                        ///< size 0: an address that a kernel receives
    int argument = -1;                      ///< of the kernel, -1 unknown
    const char* what = "";                  ///< "kernel", "copy", ...; lives for ever
    const std::string* function = nullptr;  ///< for a kernel, null unknown; lives for ever
    bool of_host = false;  ///< a copy's side that the program gave as memory of the host
  };
  using Edge = std::pair<std::size_t, std::size_t>;  ///< the second node comes after the first

  std::size_t nodes = 0;
  std::vector<Edge> edges;
  std::vector<Allocation> allocations;
  std::vector<Free> frees;
  std::vector<Use> uses;
  /// The calls that captured the nodes, by the nodes' numbers; empty if none is known.
  std::vector<Origin> captured;
};

/// "a fill of [...)", "the kernel fill(int*) (argument 0 is 0x...)".
std::string use_text(const GraphOrder::Use& use);
/// Whether a node of the graph allocates memory that begins at `base`.
bool allocates(const GraphOrder& graph, Address base);
/// The memory that a launch of the graph allocates and does not free.
std::vector<UsedRange> left_by(const GraphOrder& graph);

/// A launch frees the memory that an earlier launch left; `order` names the work that may still use
/// that memory.
Violations check_auto_free(const Facts::Order& order);

/// The uses of the graph's memory that may run before its allocation node, or after its free node.
/// One violation stands for all of them, and its message names the first. Reports nothing about a
/// graph whose edges form a circle. The model is asked for other memory, because an address where
/// other memory ends and the graph's memory begins may mean the other memory.
Violations check_graph(const Model& model, const GraphOrder& graph);
/// The same for `uses` in place of the graph's own uses. `as_captured`: they are those of the calls
/// that captured the nodes, and no call has changed them since.
Violations check_graph(const Model& model, const GraphOrder& graph,
                       const std::vector<GraphOrder::Use>& uses, bool as_captured = false);

}  // namespace cuvmm
