// SPDX-License-Identifier: Apache-2.0
// A launch of an executable graph, as a piece of work of a stream.
#pragma once

#include <memory>
#include <vector>

#include "emulator/core/emulator.h"
#include "emulator/objects/host_call.h"

namespace cuvmm::emulator {

class GraphRun {
 public:
  explicit GraphRun(const Executable& executable);
  GraphRun(const GraphRun&) = delete;
  GraphRun& operator=(const GraphRun&) = delete;

  /// Continues from the step at which the launch stopped. NOT_READY: a node waits for another
  /// thread or process.
  CUresult go_on(Emulator& e);

 private:
  struct Level {
    const Steps* steps = nullptr;
    std::size_t at = 0;
  };

  void begin(Emulator& e);
  CUresult run_node(Emulator& e, const Step& step);
  CUresult enter_condition(Emulator& e, const Step& step);

  /// A copy, because the graph may be destroyed or changed before the launch is done.
  const Steps steps_;
  const bool frees_first_;
  std::vector<Level> levels_{};  ///< the graph, and the bodies in it that are running
  std::size_t done_of_node_ = 0;
  std::unique_ptr<HostCall> host_call_{};  ///< the node's call of a function, if one began
  bool begun_ = false;
};

}  // namespace cuvmm::emulator
