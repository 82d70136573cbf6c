// SPDX-License-Identifier: Apache-2.0
// One empty graph and a page of memory, for tests of graphs.
#pragma once

#include "emulator/testing.h"

namespace cuvmm::emulator::testing {

class OneGraphTest : public EmulatorTest {
 protected:
  void SetUp() override {
    EmulatorTest::SetUp();
    graph_ = made();
    ASSERT_EQ(driver()(calls::MemAlloc{&memory_, 4096}), CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(destroy(graph_), CUDA_SUCCESS);
    EXPECT_EQ(driver()(calls::MemFree{memory_}), CUDA_SUCCESS);
  }
  static CUgraph made() {
    CUgraph graph = nullptr;
    EXPECT_EQ(symbol<CUresult(CUgraph*, unsigned)>("cuGraphCreate")(&graph, 0), CUDA_SUCCESS);
    return graph;
  }
  static CUresult destroy(CUgraph graph) {
    return symbol<CUresult(CUgraph)>("cuGraphDestroy")(graph);
  }

  CUgraph graph_ = nullptr;
  CUdeviceptr memory_ = 0;
};

}  // namespace cuvmm::emulator::testing
