// SPDX-License-Identifier: Apache-2.0
#include "emulator/graph/graph_run.h"

#include <atomic>
#include <memory>
#include <utility>

#include "emulator/base/refusal.h"
#include "emulator/capture/graph_allocation.h"
#include "emulator/core/work.h"
#include "emulator/graph/page_locked.h"
#include "emulator/transfer/queued_transfer.h"

namespace cuvmm::emulator {

GraphRun::GraphRun(const Executable& executable)
    : steps_(executable.steps()),
      frees_first_((executable.flags() & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0) {
  levels_.push_back({&steps_});
}

void GraphRun::begin(Emulator& e) {
  if (std::exchange(begun_, true) || !frees_first_) return;
  for_each_step(steps_, [&](const Step& step) {
    if (step.node->memory) free_node_memory(e, step.node->memory->base());
    return CUDA_SUCCESS;
  });
}

CUresult GraphRun::enter_condition(Emulator& e, const Step& step) {
  const auto& params = std::get<CUDA_CONDITIONAL_NODE_PARAMS>(step.node->params);
  const Condition* const found = e.graphs.find(params.handle);
  const unsigned value = found ? found->at_launch : 0;
  std::size_t body = value;  // index of a switch's body
  if (params.type == CU_GRAPH_COND_TYPE_IF) body = value ? 0 : 1;
  if (params.type == CU_GRAPH_COND_TYPE_WHILE) {
    if (value == 0) return CUDA_SUCCESS;
    static std::atomic<bool> printed{false};
    return refuse_once(printed, "cuGraphLaunch (of a loop that only a kernel would end)");
  }
  if (body < step.bodies.size()) levels_.push_back({&step.bodies[body]});
  return CUDA_SUCCESS;
}

CUresult GraphRun::run_node(Emulator& e, const Step& step) {
  const GraphNode& node = *step.node;
  if (!step.enabled) return CUDA_SUCCESS;
  if (node.host) {
    if (!host_call_) {
      host_call_ =
          std::make_unique<HostCall>(reinterpret_cast<const void*>(node.host),
                                     [function = node.host, data = node.data] { function(data); });
    }
    const CUresult result = call_program(e, *host_call_);
    if (result == CUDA_SUCCESS) host_call_.reset();
    return result;
  }
  if (!still_page_locked(e, node)) return CUDA_ERROR_LAUNCH_FAILED;
  if (node.run) {
    std::size_t*& resumed = resumed_operation();
    resumed = &done_of_node_;
    const CUresult result = node.run(e);
    resumed = nullptr;
    // An error that the call would have answered for its arguments is a fault of the device by now.
    if (result != CUDA_ERROR_INVALID_VALUE) return result;
    if (node.type == CU_GRAPH_NODE_TYPE_MEMSET) return fill_fault(e);
    return node.type == CU_GRAPH_NODE_TYPE_MEMCPY ? CUDA_ERROR_ILLEGAL_ADDRESS : result;
  }
  if (node.type == CU_GRAPH_NODE_TYPE_CONDITIONAL) return enter_condition(e, step);
  if (node.type == CU_GRAPH_NODE_TYPE_GRAPH) levels_.push_back({&step.bodies.front()});
  return CUDA_SUCCESS;
}

CUresult GraphRun::go_on(Emulator& e) {
  begin(e);
  while (!levels_.empty()) {
    Level& level = levels_.back();
    if (level.at == level.steps->size()) {
      levels_.pop_back();
      continue;
    }
    const Step& step = (*level.steps)[level.at++];
    const CUresult result = run_node(e, step);
    if (result == CUDA_ERROR_NOT_READY) --level.at;
    if (result != CUDA_SUCCESS) return result;
    done_of_node_ = 0;
  }
  return CUDA_SUCCESS;
}

}  // namespace cuvmm::emulator
