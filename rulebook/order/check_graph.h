// SPDX-License-Identifier: Apache-2.0
// The order of a graph's own nodes: memory that one of them allocates, and what uses it.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "rulebook/base/violation.h"
#include "rulebook/model/model.h"
#include "rulebook/order/uses.h"

namespace cuvmm {

/// A graph that allocates memory. Its nodes have numbers from 0 on; those of child graphs are among
/// them.
struct GraphOrder {
  struct Allocation {
    std::size_t node = 0;
    UsedRange memory;
  };
  struct Free {
    std::size_t node = 0;
    Address address = 0;
  };
  struct Use {
    std::size_t node = 0;
    UsedRange range;                        ///< size 0: an address that a kernel is given
    int argument = -1;                      ///< of the kernel, -1 unknown
    const char* what = "";                  ///< "kernel", "copy", ...; lives for ever
    const std::string* function = nullptr;  ///< of a kernel, null unknown; lives for ever
  };
  using Edge = std::pair<std::size_t, std::size_t>;  ///< the second comes after the first

  std::size_t nodes = 0;
  std::vector<Edge> edges;
  std::vector<Allocation> allocations;
  std::vector<Free> frees;
  std::vector<Use> uses;
};

/// Whether a node of the graph allocates the memory that begins there.
bool allocates(const GraphOrder& graph, Address base);
/// The memory that a launch allocates and does not free.
std::vector<UsedRange> left_by(const GraphOrder& graph);

/// A launch frees what an earlier one has left, and `order` is the work that may still need that.
Violations check_auto_free(const Facts::Order& order);

/// What may use memory of the graph before its allocation node, or after its free node; all as one
/// violation, which names the first. Silent about a graph with a circle. The model says which other
/// memory there is: its end is no use of what begins there.
Violations check_graph(const Model& model, const GraphOrder& graph);
/// The same of these uses, in place of the graph's own.
Violations check_graph(const Model& model, const GraphOrder& graph,
                       const std::vector<GraphOrder::Use>& uses);

}  // namespace cuvmm
