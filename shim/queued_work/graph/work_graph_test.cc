// SPDX-License-Identifier: Apache-2.0
// Launches of graphs use the memory that their nodes use, also after a call has changed the nodes.
#include <gmock/gmock.h>

#include "shim/testing/work_world.h"

namespace cuvmm::shim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class WorkGraph : public WorkWorld {
 protected:
  static constexpr CUdeviceptr kOther = kBase + 4 * kSize;

  /// Instantiates a graph of one kernel with one parameter.
  CUgraphExec instantiate(std::uint64_t word) {
    answers.kernel_nodes = {kernel(word)};
    return instantiate();
  }
  CUgraphExec instantiate() {
    CUgraphExec exec = nullptr;
    EXPECT_OK(run(calls::GraphInstantiateWithFlags{&exec, nullptr, 0}));
    return exec;
  }
  CUDA_KERNEL_NODE_PARAMS_v2 kernel(std::uint64_t word) {
    word_ = word;
    answers.layout = {{0, 8}};
    CUDA_KERNEL_NODE_PARAMS_v2 node{};
    node.func = function();
    node.kernelParams = parameters_;
    return node;
  }
  static CUDA_MEMSET_NODE_PARAMS fill(CUdeviceptr to) {
    CUDA_MEMSET_NODE_PARAMS node{};
    node.dst = to;
    node.elementSize = 4;
    node.width = 16;
    node.height = 1;
    return node;
  }
  static CUgraphNode node(std::uintptr_t number) { return reinterpret_cast<CUgraphNode>(number); }
  void launch(CUgraphExec exec) { EXPECT_OK(run(calls::GraphLaunch{exec, s_})); }
  /// Makes two mappings, and a graph that was launched with the first; the work on its stream is
  /// done.
  CUgraphExec with_two_mappings() {
    map();
    map(kOther);
    CUgraphExec exec = instantiate(kBase);
    launch(exec);
    run(calls::StreamSynchronize{s_});
    busy(s_);
    return exec;
  }
  /// Expects that the next launch uses only the second mapping.
  void expect_moved(CUgraphExec exec) {
    launch(exec);
    unmap();
    EXPECT_THAT(findings(), IsEmpty());
    unmap(kOther);
    EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
  }
  std::uint64_t word_ = 0;
  void* parameters_[1] = {&word_};
};

TEST_F(WorkGraph, AGraphUsesWhatItsNodesUse) {
  map();
  CUgraphExec exec = instantiate(kBase);
  word_ = 0;  // the graph has its own copy
  busy(s_);
  EXPECT_OK(run(calls::GraphLaunch{exec, s_}));
  unmap();
  ASSERT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
  EXPECT_STREQ(sink.all[0].violation.objects[0].work->what, "graph");
}

TEST_F(WorkGraph, AGraphThatReplaysAnAddressThatIsGoneIsFound) {
  map();
  CUgraphExec exec = instantiate(kBase);
  EXPECT_OK(run(calls::GraphLaunch{exec, s_}));
  EXPECT_THAT(findings(), IsEmpty());
  unmap();
  EXPECT_OK(run(calls::GraphLaunch{exec, s_}));
  EXPECT_THAT(findings(), ElementsAre("launch-argument-alive"));
  run(calls::GraphExecDestroy{exec});
  EXPECT_OK(run(calls::GraphLaunch{exec, s_}));
  EXPECT_EQ(findings().size(), 1u) << "the handle may mean another graph";
}

TEST_F(WorkGraph, ARefusedLaunchOfAnAddressThatIsGoneIsFoundToo) {
  map();
  CUgraphExec exec = instantiate(kBase);
  unmap();
  answers.graph_launch = CUDA_ERROR_INVALID_VALUE;
  EXPECT_EQ(run(calls::GraphLaunch{exec, s_}), CUDA_ERROR_INVALID_VALUE);
  ASSERT_THAT(findings(), ElementsAre("launch-argument-alive"));
  ASSERT_TRUE(sink.all[0].answer);
  EXPECT_EQ(sink.all[0].answer->result, CUDA_ERROR_INVALID_VALUE);
  EXPECT_NE(sink.all[0].call_index, 0u);
  EXPECT_NE(sink.all[0].stack, 0u);
  answers.graph_launch = CUDA_ERROR_DEINITIALIZED;
  run(calls::GraphLaunch{exec, s_});
  EXPECT_EQ(findings().size(), 1u) << "nobody looked at it";
}

TEST_F(WorkGraph, LaunchesOfOneGraphComeOneAfterTheOther) {
  unordered = true;
  map();
  CUgraphExec exec = instantiate(kBase);
  busy(s_);
  launch(exec);
  EXPECT_OK(run(calls::GraphLaunch{exec, t_}));
  EXPECT_OK(run(calls::StreamSynchronize{t_}));
  unmap();
  EXPECT_THAT(findings(), IsEmpty()) << "who waited for the second has waited for the first";
}

TEST_F(WorkGraph, AGraphThatTookAnEndedOnesNameComesAfterNothing) {
  unordered = true;
  map();
  CUgraphExec exec = instantiate(kBase);
  busy(s_);
  launch(exec);
  EXPECT_OK(run(calls::GraphExecDestroy{exec}));
  exec = instantiate(kBase);
  EXPECT_OK(run(calls::GraphLaunch{exec, t_}));
  EXPECT_OK(run(calls::StreamSynchronize{t_}));
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
}

TEST_F(WorkGraph, AGraphUsesWhatItsFillsFill) {
  map();
  answers.fill_nodes = {fill(kBase + 64)};
  CUgraphExec exec = instantiate();
  busy(s_);
  launch(exec);
  unmap();
  ASSERT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
  EXPECT_EQ(sink.all[0].violation.objects[0].size, 64u);
}

// A captured allocation or free does not happen in the capture: each launch does both again.
TEST_F(WorkGraph, MemoryThatTheGraphAllocatesAndFreesIsThereWhenItIsLaunched) {
  run(calls::StreamBeginCapture{s_, CU_STREAM_CAPTURE_MODE_GLOBAL});
  answers.capturing = {s_};
  CUdeviceptr memory = 0;
  EXPECT_OK(run(calls::MemAllocAsync{&memory, kGranule, s_}));
  EXPECT_OK(run(calls::MemFreeAsync{memory, s_}));
  answers.capturing.clear();
  CUgraphExec exec = instantiate(memory);
  launch(exec);
  launch(exec);
  EXPECT_THAT(findings(), IsEmpty());
  session().with_model([](const Model& model) { EXPECT_TRUE(model.pools().memory().empty()); });
}

// --- Changes of single nodes

TEST_F(WorkGraph, AKernelNodeWithOtherArgumentsUsesThese) {
  CUgraphExec exec = with_two_mappings();
  const CUDA_KERNEL_NODE_PARAMS_v2 other = kernel(kOther);
  EXPECT_OK(run(calls::GraphExecKernelNodeSetParams{exec, node(1), &other}));
  expect_moved(exec);
}

TEST_F(WorkGraph, AChangeOfAnotherNodeLeavesTheKernelAlone) {
  CUgraphExec exec = with_two_mappings();
  const CUDA_KERNEL_NODE_PARAMS_v2 other = kernel(kOther);
  EXPECT_OK(run(calls::GraphExecKernelNodeSetParams{exec, node(2), &other}));
  launch(exec);
  unmap(kOther);
  EXPECT_THAT(findings(), IsEmpty());
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
}

TEST_F(WorkGraph, AFillNodeWithAnotherAddressUsesThat) {
  CUgraphExec exec = with_two_mappings();
  const CUDA_MEMSET_NODE_PARAMS other = fill(kOther);
  EXPECT_OK(run(calls::GraphExecMemsetNodeSetParams{exec, node(1), &other, nullptr}));
  expect_moved(exec);
}

TEST_F(WorkGraph, ACopyNodeWithAnotherAddressUsesThat) {
  CUgraphExec exec = with_two_mappings();
  CUDA_MEMCPY3D other{};
  const char host[64] = {};
  other.srcMemoryType = CU_MEMORYTYPE_HOST;
  other.srcHost = host;
  other.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  other.dstDevice = kOther;
  other.WidthInBytes = 64;
  other.Height = other.Depth = 1;
  EXPECT_OK(run(calls::GraphExecMemcpyNodeSetParams{exec, node(1), &other, nullptr}));
  expect_moved(exec);
}

TEST_F(WorkGraph, ParametersOfAnyKindSayWhatTheyAre) {
  CUgraphExec exec = with_two_mappings();
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_MEMSET;
  params.memset.dst = kOther;
  params.memset.elementSize = 4;
  params.memset.width = 16;
  params.memset.height = 1;
  EXPECT_OK(run(calls::GraphExecNodeSetParams{exec, node(1), &params}));
  expect_moved(exec);
}

TEST_F(WorkGraph, AnotherGraphOfTheSameShapeTakesItsPlace) {
  CUgraphExec exec = with_two_mappings();
  answers.kernel_nodes = {kernel(kOther)};
  EXPECT_OK(run(calls::GraphExecUpdate_v2{exec, nullptr, nullptr}));
  expect_moved(exec);
}

// The forms of these calls in CUDA 11.
TEST_F(WorkGraph, TheFirstFormsOfChangesCountToo) {
  CUgraphExec exec = with_two_mappings();
  const CUDA_KERNEL_NODE_PARAMS_v2 other = kernel(kOther);
  CUDA_KERNEL_NODE_PARAMS_v1 first{};
  first.func = other.func;
  first.kernelParams = other.kernelParams;
  EXPECT_OK(run(calls::GraphExecKernelNodeSetParams_v1{exec, node(1), &first}));
  expect_moved(exec);
}

TEST_F(WorkGraph, TheFirstFormOfAnUpdateCountsToo) {
  CUgraphExec exec = with_two_mappings();
  answers.kernel_nodes = {kernel(kOther)};
  EXPECT_OK(run(calls::GraphExecUpdate{exec, nullptr, nullptr, nullptr}));
  expect_moved(exec);
}

TEST_F(WorkGraph, ANodeThatIsDisabledUsesNothing) {
  CUgraphExec exec = with_two_mappings();
  EXPECT_OK(run(calls::GraphNodeSetEnabled{exec, node(1), 0}));
  launch(exec);
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkGraph, AChangeThatTheDriverRefusesChangesNothing) {
  CUgraphExec exec = with_two_mappings();
  answers.change = CUDA_ERROR_INVALID_VALUE;
  EXPECT_EQ(run(calls::GraphNodeSetEnabled{exec, node(1), 0}), CUDA_ERROR_INVALID_VALUE);
  launch(exec);
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
}

// --- Nodes that tell the host

TEST_F(WorkGraph, AGraphThatTellsTheHostHowFarItIsMayBeOverForIt) {
  map();
  answers.other_node = CU_GRAPH_NODE_TYPE_HOST;
  CUgraphExec exec = instantiate(kBase);
  busy(s_);
  launch(exec);
  unmap();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkGraph, ANodeThatDoesNothingTellsNothing) {
  map();
  answers.other_node = CU_GRAPH_NODE_TYPE_EMPTY;
  CUgraphExec exec = instantiate(kBase);
  busy(s_);
  launch(exec);
  unmap();
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
}

}  // namespace
}  // namespace cuvmm::shim
