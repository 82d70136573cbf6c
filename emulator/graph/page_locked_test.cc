// SPDX-License-Identifier: Apache-2.0
// Launches of graphs that copy page-locked memory, before and behind the end of its registration.
#include <optional>
#include <vector>

#include "emulator/graph/nodes/testing_one_graph.h"

namespace cuvmm::emulator::testing {
namespace {

// In a context of its own, because the tests lose it.
class PageLockedCopy : public OneGraphTest {
 protected:
  void SetUp() override {
    EmulatorTest::SetUp();
    own_.emplace();
    graph_ = made();
    ASSERT_EQ(driver()(calls::MemAlloc{&memory_, 4096}), CUDA_SUCCESS);
    ASSERT_EQ(enter(), CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(destroy(graph_), CUDA_SUCCESS);
    own_.reset();
  }
  CUresult enter() { return driver()(calls::MemHostRegister{host_.data(), host_.size(), 0}); }
  CUresult leave() { return driver()(calls::MemHostUnregister{host_.data()}); }
  CUDA_MEMCPY3D copy() {
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = host_.data();
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = memory_;
    copy.WidthInBytes = host_.size();
    copy.Height = copy.Depth = 1;
    return copy;
  }
  void add() {
    const CUDA_MEMCPY3D params = copy();
    CUcontext context = nullptr;
    EXPECT_EQ(driver()(calls::CtxGetCurrent{&context}), CUDA_SUCCESS);
    using Add = CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, const CUDA_MEMCPY3D*,
                         CUcontext);
    EXPECT_EQ(symbol<Add>("cuGraphAddMemcpyNode")(&node_, graph_, nullptr, 0, &params, context),
              CUDA_SUCCESS);
  }
  CUgraphExec instantiate() {
    CUgraphExec executable = nullptr;
    EXPECT_EQ(driver()(calls::GraphInstantiateWithFlags{&executable, graph_, 0}), CUDA_SUCCESS);
    return executable;
  }
  CUgraphExec instantiated() {
    add();
    return instantiate();
  }
  static CUresult ran(CUgraphExec executable) {
    EXPECT_EQ(driver()(calls::GraphLaunch{executable, nullptr}), CUDA_SUCCESS);
    return driver()(calls::CtxSynchronize{});
  }

  std::optional<OwnContext> own_;
  std::vector<char> host_ = std::vector<char>(4096);
  CUgraphNode node_ = nullptr;
};

TEST_F(PageLockedCopy, FailsBehindTheEndOfTheRegistration) {
  const CUgraphExec executable = instantiated();
  EXPECT_EQ(ran(executable), CUDA_SUCCESS);
  EXPECT_EQ(leave(), CUDA_SUCCESS);
  EXPECT_EQ(ran(executable), CUDA_ERROR_LAUNCH_FAILED);
}

TEST_F(PageLockedCopy, FailsAlsoWhereTheMemoryIsRegisteredAgain) {
  const CUgraphExec executable = instantiated();
  EXPECT_EQ(leave(), CUDA_SUCCESS);
  EXPECT_EQ(enter(), CUDA_SUCCESS);
  EXPECT_EQ(ran(executable), CUDA_ERROR_LAUNCH_FAILED);
}

TEST_F(PageLockedCopy, FailsAlsoWhereTheRegistrationEndsBeforeTheInstantiation) {
  add();
  EXPECT_EQ(leave(), CUDA_SUCCESS);
  EXPECT_EQ(ran(instantiate()), CUDA_ERROR_LAUNCH_FAILED);
}

TEST_F(PageLockedCopy, OfMemoryThatWasNotPageLockedIsTheHosts) {
  EXPECT_EQ(leave(), CUDA_SUCCESS);
  EXPECT_EQ(ran(instantiated()), CUDA_SUCCESS);
}

TEST_F(PageLockedCopy, IsTheHostsOnceTheNodeGotItsParametersAgain) {
  const CUgraphExec executable = instantiated();
  EXPECT_EQ(leave(), CUDA_SUCCESS);
  const CUDA_MEMCPY3D params = copy();
  CUcontext context = nullptr;
  EXPECT_EQ(driver()(calls::CtxGetCurrent{&context}), CUDA_SUCCESS);
  using Set = CUresult(CUgraphExec, CUgraphNode, const CUDA_MEMCPY3D*, CUcontext);
  EXPECT_EQ(symbol<Set>("cuGraphExecMemcpyNodeSetParams")(executable, node_, &params, context),
            CUDA_SUCCESS);
  EXPECT_EQ(ran(executable), CUDA_SUCCESS);
}

}  // namespace
}  // namespace cuvmm::emulator::testing
