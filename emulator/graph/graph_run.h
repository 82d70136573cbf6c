// SPDX-License-Identifier: Apache-2.0
// One launch of an executable graph, as a piece of work of a stream.
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

  /// Goes on from where it stopped. NOT_READY: a node waits for somebody.
  CUresult go_on(Emulator& e);

 private:
  struct Level {
    const Steps* steps = nullptr;
    std::size_t at = 0;
  };

  void begin(Emulator& e);
  CUresult run_node(Emulator& e, const Step& step);
  CUresult enter_condition(Emulator& e, const Step& step);

  const Steps steps_;  ///< a copy: the graph may be destroyed, or changed, before it is done
  const bool frees_first_;
  std::vector<Level> levels_{};  ///< the graph, and in it the bodies that are running
  std::size_t done_of_node_ = 0;
  std::unique_ptr<HostCall> host_call_{};  ///< of the node, if it began one
  bool begun_ = false;
};

}  // namespace cuvmm::emulator
