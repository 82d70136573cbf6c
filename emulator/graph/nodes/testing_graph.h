// SPDX-License-Identifier: Apache-2.0
// Graphs of kernels, copies and fills, for tests.
#pragma once

#include <vector>

#include "emulator/graph/nodes/testing_one_graph.h"

namespace cuvmm::emulator::testing {

class GraphNodesTest : public OneGraphTest {
 protected:
  using Nodes = std::vector<CUgraphNode>;

  void SetUp() override {
    OneGraphTest::SetUp();
    module_ = load();
    store_ = function(module_);
  }
  void TearDown() override {
    for (CUgraphExec each : executables_) {
      EXPECT_EQ(driver()(calls::GraphExecDestroy{each}), CUDA_SUCCESS);
    }
    OneGraphTest::TearDown();
    EXPECT_EQ(symbol<CUresult(CUmodule)>("cuModuleUnload")(module_), CUDA_SUCCESS);
  }

  /// A module with the kernel store(to, value), which writes a 32-bit value; the kernel's second
  /// parameter lies eight bytes after the first and has 4 bytes.
  static CUmodule load() {
    constexpr const char* kText =
        ".version 8.3\n.target sm_90\n.address_size 64\n"
        ".visible .entry store(.param .u64 to, .param .u32 value)\n{\n"
        "  .reg .b64 %rd<2>;\n  .reg .b32 %r<2>;\n"
        "  ld.param.u64 %rd0, [to];\n  ld.param.u32 %r0, [value];\n"
        "  cvta.to.global.u64 %rd1, %rd0;\n  st.global.u32 [%rd1], %r0;\n  ret;\n}\n";
    CUmodule module = nullptr;
    EXPECT_EQ(symbol<CUresult(CUmodule*, const void*)>("cuModuleLoadData")(&module, kText),
              CUDA_SUCCESS);
    return module;
  }
  static CUfunction function(CUmodule module) {
    CUfunction found = nullptr;
    auto* get = symbol<CUresult(CUfunction*, CUmodule, const char*)>("cuModuleGetFunction");
    EXPECT_EQ(get(&found, module, "store"), CUDA_SUCCESS);
    return found;
  }

  /// The parameters of store(memory_, value); they point into this object.
  CUDA_KERNEL_NODE_PARAMS_v2 store(unsigned value) {
    value_ = value;
    arguments_[0] = &memory_;
    arguments_[1] = &value_;
    CUDA_KERNEL_NODE_PARAMS_v2 params{};
    params.func = store_;
    params.gridDimX = params.gridDimY = params.gridDimZ = 1;
    params.blockDimX = params.blockDimY = params.blockDimZ = 1;
    params.kernelParams = arguments_;
    return params;
  }
  CUgraphNode kernel(CUgraph graph, unsigned value, const Nodes& on = {}) {
    using Add = CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t,
                         const CUDA_KERNEL_NODE_PARAMS_v2*);
    const CUDA_KERNEL_NODE_PARAMS_v2 params = store(value);
    CUgraphNode node = nullptr;
    EXPECT_EQ(symbol<Add>("cuGraphAddKernelNode_v2")(&node, graph, on.data(), on.size(), &params),
              CUDA_SUCCESS);
    return node;
  }
  CUgraphNode fill(CUgraph graph, CUdeviceptr to, std::size_t width, std::size_t height,
                   const Nodes& on = {}) const {
    using Add = CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t,
                         const CUDA_MEMSET_NODE_PARAMS*, CUcontext);
    const CUDA_MEMSET_NODE_PARAMS params{to, 64, 3, 1, width, height};
    CUgraphNode node = nullptr;
    EXPECT_EQ(
        symbol<Add>("cuGraphAddMemsetNode")(&node, graph, on.data(), on.size(), &params, context_),
        CUDA_SUCCESS);
    return node;
  }
  CUgraphExec instantiate(CUgraph graph, unsigned long long flags = 0) {
    CUgraphExec made = nullptr;
    EXPECT_EQ(driver()(calls::GraphInstantiateWithFlags{&made, graph, flags}), CUDA_SUCCESS);
    executables_.push_back(made);
    return made;
  }
  /// The word at memory_ after a launch.
  unsigned after(CUgraphExec executable) const {
    EXPECT_EQ(driver()(calls::GraphLaunch{executable, nullptr}), CUDA_SUCCESS);
    unsigned word = 0;
    EXPECT_EQ(driver()(calls::MemcpyDtoH{&word, memory_, sizeof word}), CUDA_SUCCESS);
    return word;
  }

  CUmodule module_ = nullptr;
  CUfunction store_ = nullptr;
  std::vector<CUgraphExec> executables_;

 private:
  unsigned value_ = 0;
  void* arguments_[2] = {};
};

}  // namespace cuvmm::emulator::testing
