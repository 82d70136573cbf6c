// SPDX-License-Identifier: Apache-2.0
// Nodes that signal external semaphores or wait for them.
#include <unistd.h>

#include <memory>

#include "emulator/graph/nodes/testing_one_graph.h"
#include "emulator/machine/semaphore.h"

namespace cuvmm::emulator::testing {
namespace {

using Signal = CUDA_EXT_SEM_SIGNAL_NODE_PARAMS;
using Wait = CUDA_EXT_SEM_WAIT_NODE_PARAMS;

class SemaphoreNodes : public OneGraphTest {
 protected:
  void SetUp() override {
    OneGraphTest::SetUp();
    const int fd = create_semaphore(SemaphoreKind::kTimeline);
    here_ = Semaphore::open(fd, SemaphoreKind::kTimeline);
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc{};
    desc.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD;
    desc.handle.fd = fd;
    ASSERT_EQ(driver()(calls::ImportExternalSemaphore{&semaphore_, &desc}), CUDA_SUCCESS);
    signals_.params.fence.value = 5;
    waits_.params.fence.value = 7;
  }
  void TearDown() override {
    EXPECT_EQ(driver()(calls::DestroyExternalSemaphore{semaphore_}), CUDA_SUCCESS);
    OneGraphTest::TearDown();
  }

  Signal signal() { return {&semaphore_, &signals_, 1}; }
  Wait wait() { return {&semaphore_, &waits_, 1}; }
  CUresult add(const Signal* params, CUgraphNode* out) {
    using Add = CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, const Signal*);
    return symbol<Add>("cuGraphAddExternalSemaphoresSignalNode")(out, graph_, nullptr, 0, params);
  }
  CUresult add(const Wait* params, CUgraphNode* out) {
    using Add = CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, const Wait*);
    return symbol<Add>("cuGraphAddExternalSemaphoresWaitNode")(out, graph_, nullptr, 0, params);
  }
  static CUgraphExec instantiated(CUgraph graph) {
    CUgraphExec executable = nullptr;
    EXPECT_EQ(driver()(calls::GraphInstantiateWithFlags{&executable, graph, 0}), CUDA_SUCCESS);
    return executable;
  }
  static CUresult launch(CUgraphExec executable) {
    return driver()(calls::GraphLaunch{executable, nullptr});
  }
  static CUresult synchronise() { return driver()(calls::StreamSynchronize{nullptr}); }

  std::shared_ptr<Semaphore> here_;  ///< the semaphore, as another API has it
  CUexternalSemaphore semaphore_ = nullptr;
  CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signals_{};
  CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS waits_{};
};

// As an H200 answers.
TEST_F(SemaphoreNodes, MayBeOfNoSemaphoresAndOfUnknownOnes) {
  CUgraphNode node = nullptr, other = nullptr;
  const Signal none{};
  const Wait nobody{};
  ASSERT_EQ(add(&none, &node), CUDA_SUCCESS);
  ASSERT_EQ(add(&nobody, &other), CUDA_SUCCESS);
  EXPECT_EQ(add(static_cast<const Signal*>(nullptr), &node), CUDA_ERROR_INVALID_VALUE);
  Signal got{&semaphore_, &signals_, 1};
  auto* get =
      symbol<CUresult(CUgraphNode, Signal*)>("cuGraphExternalSemaphoresSignalNodeGetParams");
  EXPECT_EQ(get(node, &got), CUDA_SUCCESS);
  EXPECT_EQ(got.numExtSems, 0u);
  EXPECT_EQ(launch(instantiated(graph_)), CUDA_SUCCESS);
  EXPECT_EQ(synchronise(), CUDA_SUCCESS);
  CUexternalSemaphore unknown = nullptr;
  const Signal of_unknown{&unknown, &signals_, 1};
  EXPECT_EQ(add(&of_unknown, &node), CUDA_SUCCESS);
}

TEST_F(SemaphoreNodes, SignalAtTheLaunch) {
  CUgraphNode node = nullptr;
  const Signal params = signal();
  ASSERT_EQ(add(&params, &node), CUDA_SUCCESS);
  const CUgraphExec executable = instantiated(graph_);
  EXPECT_FALSE(here_->try_wait(1));
  EXPECT_EQ(launch(executable), CUDA_SUCCESS);
  EXPECT_TRUE(here_->try_wait(5));
  EXPECT_FALSE(here_->try_wait(6));
}

TEST_F(SemaphoreNodes, HoldTheirStreamUpUntilTheSignal) {
  CUgraphNode node = nullptr;
  const Wait params = wait();
  ASSERT_EQ(add(&params, &node), CUDA_SUCCESS);
  EXPECT_EQ(launch(instantiated(graph_)), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::StreamQuery{nullptr}), CUDA_ERROR_NOT_READY);
  here_->signal(7);
  EXPECT_EQ(synchronise(), CUDA_SUCCESS);
}

TEST_F(SemaphoreNodes, GetOtherParameters) {
  CUgraphNode node = nullptr, waits = nullptr;
  Signal params = signal(), got{};
  const Wait awaited = wait();
  ASSERT_EQ(add(&params, &node), CUDA_SUCCESS);
  const CUgraphExec executable = instantiated(graph_);
  ASSERT_EQ(add(&awaited, &waits), CUDA_SUCCESS);
  signals_.params.fence.value = 6;
  auto* get =
      symbol<CUresult(CUgraphNode, Signal*)>("cuGraphExternalSemaphoresSignalNodeGetParams");
  ASSERT_EQ(get(node, &got), CUDA_SUCCESS);
  ASSERT_EQ(got.numExtSems, 1u);
  EXPECT_EQ(got.extSemArray[0], semaphore_);
  EXPECT_EQ(got.paramsArray[0].params.fence.value, 5u) << "the node has its own copy";
  EXPECT_EQ(get(waits, &got), CUDA_ERROR_INVALID_VALUE) << "a node of another kind";
  auto* set =
      symbol<CUresult(CUgraphNode, const Signal*)>("cuGraphExternalSemaphoresSignalNodeSetParams");
  EXPECT_EQ(set(waits, &params), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set(node, nullptr), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(set(node, &params), CUDA_SUCCESS);
  ASSERT_EQ(get(node, &got), CUDA_SUCCESS);
  EXPECT_EQ(got.paramsArray[0].params.fence.value, 6u);
  auto* change = symbol<CUresult(CUgraphExec, CUgraphNode, const Signal*)>(
      "cuGraphExecExternalSemaphoresSignalNodeSetParams");
  signals_.params.fence.value = 9;
  ASSERT_EQ(change(executable, node, &params), CUDA_SUCCESS);
  EXPECT_EQ(launch(executable), CUDA_SUCCESS);
  EXPECT_TRUE(here_->try_wait(9));
}

TEST_F(SemaphoreNodes, AreMadeByCapturedCalls) {
  CUstream stream = nullptr;
  CUgraph captured = nullptr;
  ASSERT_EQ(driver()(calls::StreamCreate{&stream, CU_STREAM_NON_BLOCKING}), CUDA_SUCCESS);
  constexpr auto kRelaxed = CU_STREAM_CAPTURE_MODE_RELAXED;
  ASSERT_EQ(driver()(calls::StreamBeginCapture{stream, kRelaxed}), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::SignalExternalSemaphoresAsync{&semaphore_, &signals_, 1, stream}),
            CUDA_SUCCESS);
  EXPECT_FALSE(here_->try_wait(1)) << "nothing is signalled yet";
  ASSERT_EQ(driver()(calls::StreamEndCapture{stream, &captured}), CUDA_SUCCESS);
  CUgraphNode node = nullptr;
  size_t count = 1;
  CUgraphNodeType type{};
  ASSERT_EQ(
      symbol<CUresult(CUgraph, CUgraphNode*, size_t*)>("cuGraphGetNodes")(captured, &node, &count),
      CUDA_SUCCESS);
  ASSERT_EQ(count, 1u);
  ASSERT_EQ(symbol<CUresult(CUgraphNode, CUgraphNodeType*)>("cuGraphNodeGetType")(node, &type),
            CUDA_SUCCESS);
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL);
  EXPECT_EQ(launch(instantiated(captured)), CUDA_SUCCESS);
  EXPECT_TRUE(here_->try_wait(5));
  EXPECT_EQ(destroy(captured), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::StreamDestroy{stream}), CUDA_SUCCESS);
}

}  // namespace
}  // namespace cuvmm::emulator::testing
