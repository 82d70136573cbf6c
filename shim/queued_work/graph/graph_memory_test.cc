// SPDX-License-Identifier: Apache-2.0
// Graphs that allocate memory, as the driver describes them when they are instantiated.
#include <gmock/gmock.h>

#include "shim/testing/work_world.h"

namespace cuvmm::shim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class GraphOfMemory : public WorkWorld {
 protected:
  static constexpr UsedRange kMemory{0x300000000, kGranule};
  static constexpr std::uintptr_t kAllocation = 1, kUse = 2, kFree = 3, kChild = 4, kInner = 5;

  // The graph has a fill between the allocation and the free.
  void SetUp() override {
    answers.nodes[kAllocation] = {CU_GRAPH_NODE_TYPE_MEM_ALLOC, kMemory};
    answers.nodes[kUse] = {CU_GRAPH_NODE_TYPE_MEMSET, {kMemory.base, 64}};
    answers.nodes[kFree] = {CU_GRAPH_NODE_TYPE_MEM_FREE, {kMemory.base, 0}};
    answers.graphs[graph_] = {{kAllocation, kUse, kFree}, {{kAllocation, kUse}, {kUse, kFree}}};
  }
  void set_edges(std::vector<std::pair<std::uintptr_t, std::uintptr_t>> edges) {
    answers.graphs[graph_].edges = std::move(edges);
  }
  void use_by_kernel(std::uint64_t word) {
    word_ = word;
    answers.layout = {{0, 8}};
    WorkAnswers::Node node{CU_GRAPH_NODE_TYPE_KERNEL, {}};
    node.kernel.func = function();
    node.kernel.kernelParams = parameters_;
    answers.nodes[kUse] = node;
  }
  CUgraphExec instantiate() {
    CUgraphExec exec = nullptr;
    EXPECT_OK(run(calls::GraphInstantiateWithFlags{&exec, graph_, 0}));
    return exec;
  }
  CUgraph graph_ = reinterpret_cast<CUgraph>(std::uintptr_t{0x70});
  CUgraph body_ = reinterpret_cast<CUgraph>(std::uintptr_t{0x71});
  std::uint64_t word_ = 0;
  void* parameters_[1] = {&word_};
};

TEST_F(GraphOfMemory, AFreeThatDoesNotWaitForTheUseIsFound) {
  set_edges({{kAllocation, kUse}, {kAllocation, kFree}});
  instantiate();
  ASSERT_THAT(findings(), ElementsAre("graph-memory-ordered"));
  EXPECT_EQ(sink.all[0].kind(), RuleKind::kUndefined);
  EXPECT_EQ(sink.all[0].violation.message,
            "a fill of [0x300000000, 0x300000040) (64 B) uses memory that the graph frees, "
            "[0x300000000, 0x300200000) (2 MiB), and nothing orders it before the free");
}

TEST_F(GraphOfMemory, AUseThatDoesNotWaitForTheAllocationIsFound) {
  set_edges({{kAllocation, kFree}, {kUse, kFree}});
  instantiate();
  EXPECT_THAT(findings(), ElementsAre("graph-memory-ordered"));
}

TEST_F(GraphOfMemory, AUseBetweenTheTwoIsFine) {
  instantiate();
  EXPECT_THAT(findings(), IsEmpty());
  EXPECT_GT(asked("edges"), 0u);
}

TEST_F(GraphOfMemory, TheKernelIsNamed) {
  use_by_kernel(kMemory.base + 8);
  set_edges({{kAllocation, kUse}, {kAllocation, kFree}});
  instantiate();
  ASSERT_THAT(findings(), ElementsAre("graph-memory-ordered"));
  EXPECT_THAT(sink.all[0].violation.message,
              HasSubstr("the kernel fill(float*) (argument 0 is 0x300000008) uses memory"));
}

TEST_F(GraphOfMemory, WhatLiesInAStructIsNotJudged) {
  use_by_kernel(0);
  std::uint64_t both[] = {kMemory.base, kMemory.base};
  parameters_[0] = both;
  answers.layout = {{0, sizeof both}};
  set_edges({{kAllocation, kUse}, {kAllocation, kFree}});
  instantiate();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(GraphOfMemory, AGraphThatAllocatesNothingIsNotAskedForItsEdges) {
  answers.graphs[graph_] = {{kUse}, {}};
  instantiate();
  EXPECT_EQ(asked("edges"), 0u);
}

TEST_F(GraphOfMemory, WithoutItsEdgesNothingIsKnownOfAGraph) {
  answers.edges = CUDA_ERROR_LOSSY_QUERY;
  set_edges({{kAllocation, kUse}, {kAllocation, kFree}});
  instantiate();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(GraphOfMemory, NothingIsAskedWhereWorkIsNotFollowed) {
  mode = AsyncMode::kOff;
  set_edges({});
  instantiate();
  EXPECT_THAT(findings(), IsEmpty());
  EXPECT_EQ(asked("edges"), 0u);
}

// --- Child graphs

TEST_F(GraphOfMemory, WhatAChildGraphUsesIsUsedWhereItsNodeStands) {
  answers.nodes[kChild] = {CU_GRAPH_NODE_TYPE_GRAPH, {}, {}, body_};
  answers.graphs[graph_] = {{kAllocation, kChild, kFree}, {{kAllocation, kChild}, {kChild, kFree}}};
  answers.graphs[body_] = {{kUse}, {}};
  instantiate();
  EXPECT_THAT(findings(), IsEmpty());
  set_edges({{kAllocation, kChild}, {kAllocation, kFree}});
  instantiate();
  EXPECT_THAT(findings(), ElementsAre("graph-memory-ordered"));
}

TEST_F(GraphOfMemory, APathMayLeadThroughAChildGraph) {
  answers.nodes[kInner] = {CU_GRAPH_NODE_TYPE_EMPTY, {}};
  answers.nodes[kChild] = {CU_GRAPH_NODE_TYPE_GRAPH, {}, {}, body_};
  answers.graphs[graph_] = {{kAllocation, kChild, kUse, kFree},
                            {{kAllocation, kChild}, {kChild, kUse}, {kUse, kFree}}};
  answers.graphs[body_] = {{kInner}, {}};
  instantiate();
  answers.graphs[body_] = {{}, {}};
  instantiate();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(GraphOfMemory, AChildGraphThatCannotBeSeenUsesNothing) {
  answers.nodes[kChild] = {CU_GRAPH_NODE_TYPE_GRAPH, {}};
  answers.graphs[graph_] = {{kAllocation, kChild, kFree}, {{kAllocation, kFree}}};
  instantiate();
  EXPECT_THAT(findings(), IsEmpty());
}

// --- Changes

// A change keeps the edges of a graph, and so the order. A change may replace the memory that a
// node uses.
class ChangedGraph : public GraphOfMemory {
 protected:
  static constexpr UsedRange kElsewhere{0x500000000, 64};

  // The fill comes neither after the allocation nor before the free, and writes other memory.
  void SetUp() override {
    GraphOfMemory::SetUp();
    answers.nodes[kUse].memory = kElsewhere;
    set_edges({{kAllocation, kFree}});
  }
  static CUgraphNode node(std::uintptr_t number) { return reinterpret_cast<CUgraphNode>(number); }
  CUresult fill(CUgraphExec exec, CUdeviceptr to) {
    CUDA_MEMSET_NODE_PARAMS params{};
    params.dst = to;
    params.elementSize = 1;
    params.width = 64;
    params.height = 1;
    return run(calls::GraphExecMemsetNodeSetParams{exec, node(kUse), &params, nullptr});
  }
  CUresult launch_with(CUgraphExec exec, std::uint64_t word) {
    word_ = word;
    answers.layout = {{0, 8}};
    CUDA_KERNEL_NODE_PARAMS_v2 params{};
    params.func = function();
    params.kernelParams = parameters_;
    return run(calls::GraphExecKernelNodeSetParams{exec, node(kUse), &params});
  }
  CUresult update(CUgraphExec exec) { return run(calls::GraphExecUpdate_v2{exec, body_, nullptr}); }
  /// Makes another graph of equal shape, whose fill writes the graph's own memory.
  void make_other() {
    answers.nodes[kInner] = {CU_GRAPH_NODE_TYPE_MEMSET, {kMemory.base, 64}};
    answers.graphs[body_] = {{kAllocation, kInner, kFree}, {{kAllocation, kFree}}};
  }
};

TEST_F(ChangedGraph, AFillThatUsesTheGraphsMemoryFromNowOnIsFound) {
  CUgraphExec exec = instantiate();
  EXPECT_OK(fill(exec, kElsewhere.base));
  EXPECT_THAT(findings(), IsEmpty());
  EXPECT_OK(fill(exec, kMemory.base));
  ASSERT_THAT(findings(), ElementsAre("graph-memory-ordered"));
  EXPECT_EQ(sink.all[0].entry, EntryPoint::kGraphExecMemsetNodeSetParams);
  EXPECT_THAT(sink.all[0].violation.message, HasSubstr("a fill of [0x300000000, 0x300000040)"));
}

TEST_F(ChangedGraph, AKernelThatIsGivenTheGraphsMemoryFromNowOnIsFound) {
  use_by_kernel(kElsewhere.base);
  CUgraphExec exec = instantiate();
  EXPECT_OK(launch_with(exec, kElsewhere.base));
  EXPECT_THAT(findings(), IsEmpty());
  EXPECT_OK(launch_with(exec, kMemory.base + 8));
  ASSERT_THAT(findings(), ElementsAre("graph-memory-ordered"));
  EXPECT_THAT(sink.all[0].violation.message,
              HasSubstr("the kernel fill(float*) (argument 0 is 0x300000008) uses memory"));
}

TEST_F(ChangedGraph, ANodeBetweenTheTwoMayUseIt) {
  set_edges({{kAllocation, kUse}, {kUse, kFree}});
  CUgraphExec exec = instantiate();
  EXPECT_OK(fill(exec, kMemory.base));
  EXPECT_OK(launch_with(exec, kMemory.base));
  EXPECT_THAT(findings(), IsEmpty());
}

// The finding was made when the graph was instantiated.
TEST_F(ChangedGraph, WhatOtherNodesUseIsNotSaidAgain) {
  answers.nodes[kInner] = {CU_GRAPH_NODE_TYPE_MEMSET, {kMemory.base, 64}};
  answers.graphs[graph_] = {{kAllocation, kInner, kUse, kFree}, {{kAllocation, kFree}}};
  CUgraphExec exec = instantiate();
  ASSERT_THAT(findings(), ElementsAre("graph-memory-ordered"));
  EXPECT_OK(fill(exec, kElsewhere.base));
  EXPECT_EQ(findings().size(), 1u);
}

TEST_F(ChangedGraph, ANodeThatIsDisabledIsNotJudged) {
  CUgraphExec exec = instantiate();
  EXPECT_OK(run(calls::GraphNodeSetEnabled{exec, node(kUse), 0}));
  EXPECT_OK(fill(exec, kMemory.base));
  EXPECT_THAT(findings(), IsEmpty());
  EXPECT_OK(run(calls::GraphNodeSetEnabled{exec, node(kUse), 1}));
  EXPECT_OK(fill(exec, kMemory.base));
  EXPECT_THAT(findings(), ElementsAre("graph-memory-ordered"));
}

TEST_F(ChangedGraph, AGraphThatTakesItsPlaceIsJudged) {
  make_other();
  CUgraphExec exec = instantiate();
  EXPECT_OK(update(exec));
  ASSERT_THAT(findings(), ElementsAre("graph-memory-ordered"));
  EXPECT_EQ(sink.all[0].entry, EntryPoint::kGraphExecUpdate_v2);
  EXPECT_OK(run(calls::GraphExecUpdate{exec, body_, nullptr, nullptr}));
  ASSERT_EQ(findings().size(), 2u);
  EXPECT_EQ(sink.all[1].entry, EntryPoint::kGraphExecUpdate);
}

TEST_F(ChangedGraph, AGraphInGoodOrderMayTakeItsPlace) {
  make_other();
  answers.graphs[body_].edges = {{kAllocation, kInner}, {kInner, kFree}};
  CUgraphExec exec = instantiate();
  EXPECT_OK(update(exec));
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(ChangedGraph, AnUpdateThatTheDriverRefusesIsNotJudged) {
  make_other();
  CUgraphExec exec = instantiate();
  answers.change = CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  EXPECT_EQ(update(exec), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_THAT(findings(), IsEmpty());
  EXPECT_OK(fill(exec, kMemory.base)) << "it is the graph that it was";
  EXPECT_THAT(findings(), ElementsAre("graph-memory-ordered"));
}

TEST_F(ChangedGraph, NothingIsKnownOfNodesOnceAnotherGraphTookThePlace) {
  make_other();
  answers.nodes[kInner].memory = kElsewhere;
  CUgraphExec exec = instantiate();
  EXPECT_OK(update(exec));
  EXPECT_OK(fill(exec, kMemory.base));
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(ChangedGraph, NothingIsKnownOfAGraphThatIsGone) {
  CUgraphExec exec = instantiate();
  EXPECT_OK(run(calls::GraphExecDestroy{exec}));
  EXPECT_OK(fill(exec, kMemory.base));
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(ChangedGraph, TheNextGraphOfTheNameIsAnother) {
  instantiate();
  answers.graphs[graph_] = {{kUse}, {}};
  CUgraphExec exec = instantiate();
  EXPECT_OK(fill(exec, kMemory.base));
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(ChangedGraph, NothingIsKnownOnceAChildWasReplaced) {
  answers.nodes[kChild] = {CU_GRAPH_NODE_TYPE_GRAPH, {}, {}, body_};
  answers.graphs[body_] = {{}, {}};
  answers.graphs[graph_] = {{kAllocation, kUse, kChild, kFree}, {{kAllocation, kFree}}};
  CUgraphExec exec = instantiate();
  EXPECT_OK(run(calls::GraphExecChildGraphNodeSetParams{exec, node(kChild), body_}));
  EXPECT_OK(fill(exec, kMemory.base));
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(ChangedGraph, AGraphThatAllocatesNothingIsNotAskedForTheKindsOfAnothersNodes) {
  answers.graphs[graph_] = {{kUse}, {}};
  answers.graphs[body_] = {{kUse}, {}};
  CUgraphExec exec = instantiate();
  const std::size_t before = answers.asked.size();
  EXPECT_OK(update(exec));
  EXPECT_EQ(answers.asked.size(), before);
}

// --- Launches

// Whichever memory lay at the address before, the launch allocates memory there.
TEST_F(GraphOfMemory, ALaunchIsNotGivenWhatItAllocatesItself) {
  CUdeviceptr reserved = 0;
  run(calls::MemAddressReserve{&reserved, kGranule, 0, kMemory.base, 0});
  map();
  use_by_kernel(kMemory.base);
  CUgraphExec exec = instantiate();
  EXPECT_OK(run(calls::GraphLaunch{exec, s_}));
  EXPECT_THAT(findings(), IsEmpty());
}

}  // namespace
}  // namespace cuvmm::shim
