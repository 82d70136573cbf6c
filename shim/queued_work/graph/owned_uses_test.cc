// SPDX-License-Identifier: Apache-2.0
// Launches of graphs whose nodes use memory that has ended.
#include <gmock/gmock.h>

#include "shim/testing/work_world.h"

namespace cuvmm::shim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class GraphOwners : public WorkWorld {
 protected:
  static constexpr std::size_t kBytes = 4096;
  static constexpr CUdeviceptr kOther = kBase + 4 * kSize;

  // One fill of memory of cuMemAlloc. Nothing else wakes the record of queued work.
  void SetUp() override {
    memory_ = allocate();
    answers.nodes[1] = {CU_GRAPH_NODE_TYPE_MEMSET, {memory_, kBytes}};
    answers.graphs[graph_] = {{1}, {}};
  }
  CUdeviceptr allocate() {
    CUdeviceptr out = 0;
    EXPECT_OK(run(calls::MemAlloc{&out, kBytes}));
    answers.plain_memory += 0x100000;
    return out;
  }
  void free(CUdeviceptr memory) { EXPECT_OK(run(calls::MemFree{memory})); }
  CUgraphExec instantiate() {
    CUgraphExec exec = nullptr;
    EXPECT_OK(run(calls::GraphInstantiateWithFlags{&exec, graph_, 0}));
    return exec;
  }
  void launch_graph(CUgraphExec exec) { run(calls::GraphLaunch{exec, s_}); }
  void set_fill(CUgraphExec exec, CUdeviceptr memory) {
    const CUDA_MEMSET_NODE_PARAMS params{memory, 0, 0, 1, kBytes, 1};
    EXPECT_OK(run(calls::GraphExecMemsetNodeSetParams{exec, node(1), &params, nullptr}));
  }
  static CUgraphNode node(std::uintptr_t number) { return reinterpret_cast<CUgraphNode>(number); }

  CUgraph graph_ = reinterpret_cast<CUgraph>(std::uintptr_t{0x70});
  CUdeviceptr memory_ = 0;
};

TEST_F(GraphOwners, ALaunchBehindTheFreeIsFound) {
  const CUgraphExec exec = instantiate();
  launch_graph(exec);
  EXPECT_THAT(findings(), IsEmpty());
  free(memory_);
  launch_graph(exec);
  ASSERT_THAT(findings(), ElementsAre("launch-argument-alive"));
  EXPECT_THAT(sink.all[0].violation.message, HasSubstr("a fill of "));
}

TEST_F(GraphOwners, ARefusedLaunchIsFoundToo) {
  const CUgraphExec exec = instantiate();
  free(memory_);
  answers.graph_launch = CUDA_ERROR_INVALID_VALUE;
  launch_graph(exec);
  EXPECT_THAT(findings(), ElementsAre("launch-argument-alive"));
}

TEST_F(GraphOwners, EachMistakeOfALaunchIsNamedAndEndedMemoryOnce) {
  map();
  map(kOther, kSize, false);
  answers.nodes[1].memory = {kBase, kBytes};
  answers.nodes[2] = {CU_GRAPH_NODE_TYPE_MEMSET, {kOther, kBytes}};
  answers.graphs[graph_] = {{1, 2}, {}};
  const CUgraphExec exec = instantiate();
  unmap();
  run(calls::GraphLaunch{exec, nullptr});  // the driver takes the device from the current context
  EXPECT_THAT(findings(), ElementsAre("launch-argument-alive", "launch-argument-access"));
}

TEST_F(GraphOwners, AFreeBehindTheLastLaunchIsFine) {
  const CUgraphExec exec = instantiate();
  launch_graph(exec);
  free(memory_);
  run(calls::GraphExecDestroy{exec});
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(GraphOwners, AKernelsPointerCounts) {
  answers.layout = {{0, 8}};
  std::uint64_t word = memory_;
  void* parameters[] = {&word};
  WorkAnswers::Node kernel{CU_GRAPH_NODE_TYPE_KERNEL, {}};
  kernel.kernel.func = function();
  kernel.kernel.kernelParams = parameters;
  answers.nodes[1] = kernel;
  const CUgraphExec exec = instantiate();
  free(memory_);
  launch_graph(exec);
  ASSERT_THAT(findings(), ElementsAre("launch-argument-alive"));
  EXPECT_THAT(sink.all[0].violation.message, HasSubstr("the kernel fill"));
}

TEST_F(GraphOwners, ANodeThatGotOtherMemoryIsFineUntilThatEnds) {
  const CUgraphExec exec = instantiate();
  const CUdeviceptr other = allocate();
  set_fill(exec, other);
  free(memory_);
  launch_graph(exec);
  EXPECT_THAT(findings(), IsEmpty());
  free(other);
  launch_graph(exec);
  EXPECT_THAT(findings(), ElementsAre("launch-argument-alive"));
}

TEST_F(GraphOwners, AnUpdatedGraphUsesTheOtherGraphsMemory) {
  const CUgraphExec exec = instantiate();
  const CUgraph other = reinterpret_cast<CUgraph>(std::uintptr_t{0x71});
  const CUdeviceptr memory = allocate();
  answers.nodes[2] = {CU_GRAPH_NODE_TYPE_MEMSET, {memory, kBytes}};
  answers.graphs[other] = {{2}, {}};
  CUgraphExecUpdateResultInfo info{};
  EXPECT_OK(run(calls::GraphExecUpdate_v2{exec, other, &info}));
  free(memory_);
  launch_graph(exec);
  EXPECT_THAT(findings(), IsEmpty());
  free(memory);
  launch_graph(exec);
  EXPECT_THAT(findings(), ElementsAre("launch-argument-alive"));
}

TEST_F(GraphOwners, AnUpdatedGraphIsForgottenWhenANodeChanges) {
  const CUgraphExec exec = instantiate();
  CUgraphExecUpdateResultInfo info{};
  EXPECT_OK(run(calls::GraphExecUpdate_v2{exec, graph_, &info}));
  set_fill(exec, allocate());
  free(memory_);
  launch_graph(exec);
  EXPECT_THAT(findings(), IsEmpty()) << "nobody can tell which node the program named";
}

TEST_F(GraphOwners, ADisabledNodeUsesNothing) {
  const CUgraphExec exec = instantiate();
  EXPECT_OK(run(calls::GraphNodeSetEnabled{exec, node(1), 0}));
  free(memory_);
  launch_graph(exec);
  EXPECT_THAT(findings(), IsEmpty());
  EXPECT_OK(run(calls::GraphNodeSetEnabled{exec, node(1), 1}));
  launch_graph(exec);
  EXPECT_THAT(findings(), ElementsAre("launch-argument-alive"));
}

TEST_F(GraphOwners, MemoryThatIsBornAgainAtTheAddressMayBeMeant) {
  const CUgraphExec exec = instantiate();
  free(memory_);
  answers.plain_memory = memory_;
  EXPECT_EQ(allocate(), memory_);
  launch_graph(exec);
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(GraphOwners, MemoryThatOnlyTheDriverKnowsIsMemory) {
  const CUgraphExec exec = instantiate();
  free(memory_);
  answers.places[memory_] = CU_MEMORYTYPE_DEVICE;
  launch_graph(exec);
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(GraphOwners, AnotherGraphWithTheHandleHasItsOwnMemory) {
  const CUgraphExec exec = instantiate();
  run(calls::GraphExecDestroy{exec});
  answers.nodes[1].memory = {0x1000, 64};
  EXPECT_EQ(instantiate(), exec);
  free(memory_);
  launch_graph(exec);
  EXPECT_THAT(findings(), IsEmpty());
}

}  // namespace
}  // namespace cuvmm::shim
