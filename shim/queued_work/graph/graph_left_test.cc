// SPDX-License-Identifier: Apache-2.0
// Memory that the launch of a graph allocates and leaves allocated.
#include <gmock/gmock.h>

#include "shim/testing/work_world.h"

namespace cuvmm::shim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class GraphLeaves : public WorkWorld {
 protected:
  static constexpr UsedRange kMemory{0x300000000, kGranule};
  static constexpr std::uintptr_t kAllocation = 1, kUse = 2;

  // An allocation and a fill; nothing frees the memory.
  void SetUp() override {
    answers.non_blocking = {s_, t_};
    answers.nodes[kAllocation] = {CU_GRAPH_NODE_TYPE_MEM_ALLOC, kMemory};
    answers.nodes[kUse] = {CU_GRAPH_NODE_TYPE_MEMSET, {kMemory.base, 64}};
    answers.graphs[graph_] = {{kAllocation, kUse}, {{kAllocation, kUse}}};
  }
  CUgraphExec instantiate(unsigned long long flags = 0) {
    CUgraphExec exec = nullptr;
    EXPECT_OK(run(calls::GraphInstantiateWithFlags{&exec, graph_, flags}));
    return exec;
  }
  void launch_graph(CUgraphExec exec, CUstream stream) {
    EXPECT_OK(run(calls::GraphLaunch{exec, stream}));
  }
  void order(CUstream before, CUstream after) {
    run(calls::EventRecord{e_, before});
    run(calls::StreamWaitEvent{after, e_, 0});
  }
  // The memory of graphs that is in use; "" for none.
  std::string left() {
    for (const InUse& one : session().in_use(std::chrono::milliseconds(1000))) {
      if (std::string(one.what) != "piece of graph memory") continue;
      EXPECT_FALSE(one.fix.empty());
      return std::to_string(one.count) + " " + one.what + ", " + std::to_string(one.bytes) +
             " bytes";
    }
    return {};
  }
  CUresult free_on(CUstream stream) { return run(calls::MemFreeAsync{kMemory.base, stream}); }
  static constexpr unsigned long long kAutoFree = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
  CUgraph graph_ = reinterpret_cast<CUgraph>(std::uintptr_t{0x70});
  CUgraph other_ = reinterpret_cast<CUgraph>(std::uintptr_t{0x71});
};

TEST_F(GraphLeaves, MemoryThatNobodyFreedIsInUse) {
  EXPECT_EQ(left(), "");
  const CUgraphExec exec = instantiate(kAutoFree);
  EXPECT_EQ(left(), "");
  launch_graph(exec, s_);
  launch_graph(exec, s_);
  EXPECT_EQ(left(), "1 piece of graph memory, 2097152 bytes") << "each launch frees the last one's";
  EXPECT_OK(free_on(s_));
  EXPECT_EQ(left(), "");
}

TEST_F(GraphLeaves, MemoryOutlivesItsContext) {
  launch_graph(instantiate(), s_);
  EXPECT_OK(run(calls::CtxDestroy{answers.context}));
  EXPECT_EQ(left(), "1 piece of graph memory, 2097152 bytes") << "as on an H100";
}

TEST_F(GraphLeaves, MemoryThatTheGraphFreesIsNotInUse) {
  answers.nodes[3] = {CU_GRAPH_NODE_TYPE_MEM_FREE, kMemory};
  answers.graphs[graph_] = {{kAllocation, kUse, 3}, {{kAllocation, kUse}, {kUse, 3}}};
  launch_graph(instantiate(), s_);
  EXPECT_EQ(left(), "");
}

TEST_F(GraphLeaves, MemoryThatALaunchOfAnotherGraphFreesIsNotInUse) {
  launch_graph(instantiate(), s_);
  answers.nodes[3] = {CU_GRAPH_NODE_TYPE_MEM_FREE, kMemory};
  answers.graphs[other_] = {{3}, {}};
  answers.exec = 0x9f;
  CUgraphExec exec = nullptr;
  EXPECT_OK(run(calls::GraphInstantiateWithFlags{&exec, other_, 0}));
  EXPECT_NE(left(), "") << "the graph has not been launched";
  launch_graph(exec, s_);
  EXPECT_EQ(left(), "");
}

TEST_F(GraphLeaves, WorkThatDoesNotWaitForTheLaunchIsFound) {
  launch_graph(instantiate(), s_);
  busy(s_);
  launch(t_, {kMemory.base + 8});
  ASSERT_THAT(findings(), ElementsAre("data-pool-ordered"));
  EXPECT_THAT(sink.all[0].violation.message,
              HasSubstr("memory that a graph's launch on stream 0x51 allocates"));
}

TEST_F(GraphLeaves, WorkBehindTheLaunchIsFine) {
  launch_graph(instantiate(), s_);
  busy(s_);
  launch(s_, {kMemory.base});
  order(s_, t_);
  launch(t_, {kMemory.base});
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(GraphLeaves, AFreeThatDoesNotWaitForTheWorkIsFound) {
  launch_graph(instantiate(), s_);
  order(s_, t_);
  busy(t_);
  launch(t_, {kMemory.base});
  EXPECT_OK(free_on(s_));
  EXPECT_THAT(findings(), ElementsAre("cuMemFreeAsync-ordered"));
}

TEST_F(GraphLeaves, AFreeBehindTheWorkIsFine) {
  launch_graph(instantiate(), s_);
  order(s_, t_);
  busy(t_);
  launch(t_, {kMemory.base});
  order(t_, s_);
  EXPECT_OK(free_on(s_));
  EXPECT_THAT(findings(), IsEmpty());
}

// No documentation says that cuMemFree does not wait for work that uses memory of a graph.
TEST_F(GraphLeaves, AFreeAtOnceMayWait) {
  launch_graph(instantiate(), s_);
  order(s_, t_);
  busy(t_);
  launch(t_, {kMemory.base});
  EXPECT_OK(run(calls::MemFree{kMemory.base}));
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(GraphLeaves, WorkOfAnEarlierLifeCountsForNothing) {
  const CUgraphExec exec = instantiate();
  launch_graph(exec, s_);
  order(s_, t_);
  busy(t_);
  launch(t_, {kMemory.base});
  free_on(s_);
  ASSERT_THAT(findings(), ElementsAre("cuMemFreeAsync-ordered"));
  launch_graph(exec, s_);
  free_on(s_);
  EXPECT_THAT(findings(), ElementsAre("cuMemFreeAsync-ordered"));
}

TEST_F(GraphLeaves, ALaunchThatFreesUnderWorkIsFound) {
  const CUgraphExec exec = instantiate(kAutoFree);
  launch_graph(exec, s_);
  order(s_, t_);
  busy(t_);
  launch(t_, {kMemory.base});
  launch_graph(exec, s_);
  ASSERT_THAT(findings(), ElementsAre("cuGraphLaunch-auto-free-ordered"));
  EXPECT_THAT(sink.all[0].violation.message,
              HasSubstr("memory that an earlier launch of the graph has left is freed while"));
}

TEST_F(GraphLeaves, ALaunchThatFreesBehindTheWorkIsFine) {
  const CUgraphExec exec = instantiate(kAutoFree);
  launch_graph(exec, s_);
  order(s_, t_);
  busy(t_);
  launch(t_, {kMemory.base});
  order(t_, s_);
  launch_graph(exec, s_);
  EXPECT_THAT(findings(), IsEmpty());
}

// The driver runs launches of one executable graph one after the other.
TEST_F(GraphLeaves, ALaunchOnAnotherStreamComesBehindTheFirst) {
  const CUgraphExec exec = instantiate(kAutoFree);
  launch_graph(exec, s_);
  busy(s_);
  launch_graph(exec, t_);
  EXPECT_THAT(findings(), IsEmpty());
}

// cuvmm cannot tell which graph's launch freed the memory, because it does not follow the launches
// of the other graph.
TEST_F(GraphLeaves, MemoryThatANodeOfAnotherGraphFreesIsNotJudged) {
  constexpr std::uintptr_t kFree = 3;
  const CUgraphExec exec = instantiate();
  answers.nodes[kFree] = {CU_GRAPH_NODE_TYPE_MEM_FREE, {kMemory.base, 0}};
  answers.graphs[other_] = {{kFree}, {}};
  CUgraphExec frees = nullptr;
  EXPECT_OK(run(calls::GraphInstantiateWithFlags{&frees, other_, 0}));
  instantiate();  // the driver of these tests has one handle for all executable graphs
  launch_graph(exec, s_);
  busy(s_);
  launch(t_, {kMemory.base});
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(GraphLeaves, AfterAnUpdateNobodyKnowsWhatALaunchLeaves) {
  const CUgraphExec exec = instantiate(kAutoFree);
  CUgraphExecUpdateResultInfo info{};
  EXPECT_OK(run(calls::GraphExecUpdate_v2{exec, graph_, &info}));
  launch_graph(exec, s_);
  busy(s_);
  launch(t_, {kMemory.base});
  launch_graph(exec, s_);
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(GraphLeaves, TheEndOfOnesMemoryIsNoUseOfTheNext) {
  constexpr std::uintptr_t kSecond = 3;
  constexpr CUdeviceptr kNext = kMemory.base + kGranule;
  answers.nodes[kSecond] = {CU_GRAPH_NODE_TYPE_MEM_ALLOC, {kNext, kGranule}};
  answers.graphs[graph_].nodes.push_back(kSecond);
  launch_graph(instantiate(), s_);
  order(s_, t_);
  busy(t_);
  launch(t_, {kMemory.base, kNext});
  EXPECT_OK(run(calls::MemFreeAsync{kNext, s_}));
  EXPECT_THAT(findings(), IsEmpty());
}

}  // namespace
}  // namespace cuvmm::shim
