// SPDX-License-Identifier: Apache-2.0
// Queries and changes of kernel nodes.
#include <cstring>

#include "emulator/graph/nodes/testing_graph.h"

namespace cuvmm::emulator::testing {
namespace {

using Tell = CUresult(CUgraphNode, CUDA_KERNEL_NODE_PARAMS_v2*);
using TellFirst = CUresult(CUgraphNode, CUDA_KERNEL_NODE_PARAMS_v1*);
using Change = CUresult(CUgraphNode, const CUDA_KERNEL_NODE_PARAMS_v2*);

struct KernelNodeTest : GraphNodesTest {
  static CUDA_KERNEL_NODE_PARAMS_v2 params_of(CUgraphNode node) {
    CUDA_KERNEL_NODE_PARAMS_v2 out{};
    EXPECT_EQ(symbol<Tell>("cuGraphKernelNodeGetParams_v2")(node, &out), CUDA_SUCCESS);
    return out;
  }
  static unsigned value_of(const CUDA_KERNEL_NODE_PARAMS_v2& params) {
    unsigned value = 0;
    std::memcpy(&value, params.kernelParams[1], sizeof value);
    return value;
  }
};

TEST_F(KernelNodeTest, ANodeTellsArgumentsOfItsOwn) {
  CUgraphNode node = kernel(graph_, 7);
  // Changes the memory that the first parameters point to.
  CUDA_KERNEL_NODE_PARAMS_v2 params = store(8);
  params = params_of(node);
  EXPECT_EQ(params.func, store_);
  EXPECT_EQ(params.blockDimX, 1u);
  EXPECT_EQ(params.extra, nullptr);
  EXPECT_EQ(params.ctx, context_);
  EXPECT_EQ(std::memcmp(params.kernelParams[0], &memory_, sizeof memory_), 0);
  EXPECT_EQ(value_of(params), 7u);
  EXPECT_EQ(after(instantiate(graph_)), 7u);
  CUDA_KERNEL_NODE_PARAMS_v1 first{};
  ASSERT_EQ(symbol<TellFirst>("cuGraphKernelNodeGetParams")(node, &first), CUDA_SUCCESS);
  EXPECT_EQ(first.func, store_);
  EXPECT_EQ(first.kernelParams, params.kernelParams);
}

// A driver dies of such a graph (an H100). One that was instantiated before is launched.
TEST_F(KernelNodeTest, AGraphOfUnloadedCodeIsNotInstantiated) {
  CUmodule module = load();
  CUDA_KERNEL_NODE_PARAMS_v2 params = store(5);
  params.func = function(module);
  CUgraphNode node = nullptr;
  auto* add = symbol<CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t,
                              const CUDA_KERNEL_NODE_PARAMS_v2*)>("cuGraphAddKernelNode_v2");
  ASSERT_EQ(add(&node, graph_, nullptr, 0, &params), CUDA_SUCCESS);
  CUgraphExec before = instantiate(graph_);
  ASSERT_EQ(symbol<CUresult(CUmodule)>("cuModuleUnload")(module), CUDA_SUCCESS);
  CUgraphExec exec = nullptr;
  EXPECT_EQ(driver()(calls::GraphInstantiateWithFlags{&exec, graph_, 0}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(after(before), 5u);
  CUgraphExecUpdateResultInfo info{};
  EXPECT_EQ(driver()(calls::GraphExecUpdate_v2{before, graph_, &info}), CUDA_SUCCESS) << "an H200";
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
  CUgraph loaded = made();
  kernel(loaded, 5);
  CUgraphExec other = instantiate(loaded);
  EXPECT_EQ(driver()(calls::GraphExecUpdate_v2{other, graph_, &info}),
            CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE)
      << "an H200 dies of it";
  EXPECT_EQ(destroy(loaded), CUDA_SUCCESS);
  params.func = store_;
  ASSERT_EQ(symbol<Change>("cuGraphKernelNodeSetParams_v2")(node, &params), CUDA_SUCCESS);
  EXPECT_EQ(after(instantiate(graph_)), 5u);
}

TEST_F(KernelNodeTest, WhatIsNoKernelTellsNothing) {
  CUDA_KERNEL_NODE_PARAMS_v2 params{};
  CUgraphNode node = fill(graph_, memory_, 4, 1);
  EXPECT_EQ(symbol<Tell>("cuGraphKernelNodeGetParams_v2")(node, &params), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(symbol<Tell>("cuGraphKernelNodeGetParams_v2")(nullptr, &params),
            CUDA_ERROR_INVALID_VALUE);
  node = kernel(graph_, 1);
  EXPECT_EQ(symbol<Tell>("cuGraphKernelNodeGetParams_v2")(node, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(KernelNodeTest, APackedBufferIsToldAsSuch) {
  struct {
    CUdeviceptr to;
    unsigned value;
  } packed{memory_, 9};
  std::size_t size = 12;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   CU_LAUNCH_PARAM_END};
  CUDA_KERNEL_NODE_PARAMS_v2 params = store(1);
  params.kernelParams = nullptr;
  params.extra = extra;
  CUgraphNode node = kernel(graph_, 1);
  ASSERT_EQ(symbol<Change>("cuGraphKernelNodeSetParams_v2")(node, &params), CUDA_SUCCESS);
  packed.value = 10;
  params = params_of(node);
  EXPECT_EQ(params.kernelParams, nullptr);
  ASSERT_NE(params.extra, nullptr);
  EXPECT_EQ(params.extra[0], CU_LAUNCH_PARAM_BUFFER_POINTER);
  EXPECT_NE(params.extra[1], &packed);
  packed.value = 9;
  EXPECT_EQ(std::memcmp(params.extra[1], &packed, size), 0);
  EXPECT_EQ(*static_cast<std::size_t*>(params.extra[3]), size);
  EXPECT_EQ(after(instantiate(graph_)), 9u);
}

TEST_F(KernelNodeTest, GraphAndExecutableChangeApart) {
  CUgraphNode node = kernel(graph_, 1);
  CUgraphExec executable = instantiate(graph_);
  CUDA_KERNEL_NODE_PARAMS_v2 params = store(2);
  ASSERT_EQ(symbol<Change>("cuGraphKernelNodeSetParams_v2")(node, &params), CUDA_SUCCESS);
  EXPECT_EQ(value_of(params_of(node)), 2u);
  EXPECT_EQ(after(executable), 1u);
  params = store(3);
  ASSERT_EQ(driver()(calls::GraphExecKernelNodeSetParams{executable, node, &params}), CUDA_SUCCESS);
  EXPECT_EQ(value_of(params_of(node)), 2u);
  EXPECT_EQ(after(executable), 3u);
  // The structures of CUDA 11.
  CUDA_KERNEL_NODE_PARAMS_v1 first{};
  ASSERT_EQ(symbol<TellFirst>("cuGraphKernelNodeGetParams")(node, &first), CUDA_SUCCESS);
  using Set = CUresult(CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS_v1*);
  ASSERT_EQ(symbol<Set>("cuGraphExecKernelNodeSetParams")(executable, node, &first), CUDA_SUCCESS);
  EXPECT_EQ(after(executable), 2u);
  params = store(5);
  first.kernelParams = params.kernelParams;
  using SetOwn = CUresult(CUgraphNode, const CUDA_KERNEL_NODE_PARAMS_v1*);
  ASSERT_EQ(symbol<SetOwn>("cuGraphKernelNodeSetParams")(node, &first), CUDA_SUCCESS);
  EXPECT_EQ(value_of(params_of(node)), 5u);
}

TEST_F(KernelNodeTest, TheContextOfAFunctionNeverChanges) {
  CUgraphNode node = kernel(graph_, 1);
  CUgraphExec executable = instantiate(graph_);
  CUcontext other = use_device(1);
  CUmodule there = load();
  CUDA_KERNEL_NODE_PARAMS_v2 params = store(2);
  params.func = function(there);
  params.ctx = other;
  EXPECT_EQ(driver()(calls::GraphExecKernelNodeSetParams{executable, node, &params}),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(symbol<CUresult(CUmodule)>("cuModuleUnload")(there), CUDA_SUCCESS);
  ASSERT_EQ(driver()(calls::CtxSetCurrent{context_}), CUDA_SUCCESS);
  EXPECT_EQ(after(executable), 1u);
}

TEST_F(KernelNodeTest, ACapturedLaunchTellsWhatItWasGiven) {
  CUstream stream = nullptr;
  ASSERT_EQ(driver()(calls::StreamCreate{&stream, 0}), CUDA_SUCCESS);
  ASSERT_EQ(driver()(calls::StreamBeginCapture{stream, CU_STREAM_CAPTURE_MODE_RELAXED}),
            CUDA_SUCCESS);
  const CUDA_KERNEL_NODE_PARAMS_v2 params = store(4);
  ASSERT_EQ(driver()(calls::LaunchCooperativeKernel{store_, 1, 1, 1, 2, 1, 1, 0, stream,
                                                    params.kernelParams}),
            CUDA_SUCCESS);
  ASSERT_EQ(driver()(calls::MemcpyDtoDAsync{memory_ + 64, memory_, 8, stream}), CUDA_SUCCESS);
  CUgraph captured = nullptr;
  ASSERT_EQ(driver()(calls::StreamEndCapture{stream, &captured}), CUDA_SUCCESS);
  CUgraphNode nodes[2] = {};
  std::size_t count = 2;
  auto* all = symbol<CUresult(CUgraph, CUgraphNode*, std::size_t*)>("cuGraphGetNodes");
  ASSERT_EQ(all(captured, nodes, &count), CUDA_SUCCESS);
  ASSERT_EQ(count, 2u);
  EXPECT_EQ(params_of(nodes[0]).blockDimX, 2u);
  EXPECT_EQ(value_of(params_of(nodes[0])), 4u);
  CUkernelNodeAttrValue value{};
  using Get = CUresult(CUgraphNode, CUkernelNodeAttrID, CUkernelNodeAttrValue*);
  ASSERT_EQ(symbol<Get>("cuGraphKernelNodeGetAttribute")(nodes[0], CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
                                                         &value),
            CUDA_SUCCESS);
  EXPECT_EQ(value.cooperative, 1);
  CUDA_MEMCPY3D copy{};
  auto* get = symbol<CUresult(CUgraphNode, CUDA_MEMCPY3D*)>("cuGraphMemcpyNodeGetParams");
  ASSERT_EQ(get(nodes[1], &copy), CUDA_SUCCESS);
  EXPECT_EQ(copy.dstDevice, memory_ + 64);
  EXPECT_EQ(copy.srcMemoryType, CU_MEMORYTYPE_DEVICE);
  EXPECT_EQ(copy.WidthInBytes, 8u);
  EXPECT_EQ(destroy(captured), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::StreamDestroy{stream}), CUDA_SUCCESS);
}

TEST_F(KernelNodeTest, AttributesAreSetToldAndCopied) {
  CUgraphNode node = kernel(graph_, 1), other = kernel(graph_, 2);
  CUkernelNodeAttrValue value{};
  value.priority = -3;
  constexpr auto kPriority = CU_LAUNCH_ATTRIBUTE_PRIORITY;
  using Set = CUresult(CUgraphNode, CUkernelNodeAttrID, const CUkernelNodeAttrValue*);
  using Get = CUresult(CUgraphNode, CUkernelNodeAttrID, CUkernelNodeAttrValue*);
  auto* set = symbol<Set>("cuGraphKernelNodeSetAttribute");
  auto* get = symbol<Get>("cuGraphKernelNodeGetAttribute");
  ASSERT_EQ(set(node, kPriority, &value), CUDA_SUCCESS);
  EXPECT_EQ(set(node, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT, &value), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set(node, kPriority, nullptr), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(get(other, kPriority, &value), CUDA_SUCCESS);
  EXPECT_EQ(value.priority, 0);
  auto* copy = symbol<CUresult(CUgraphNode, CUgraphNode)>("cuGraphKernelNodeCopyAttributes");
  ASSERT_EQ(copy(other, node), CUDA_SUCCESS);
  ASSERT_EQ(get(other, kPriority, &value), CUDA_SUCCESS);
  EXPECT_EQ(value.priority, -3);
  EXPECT_EQ(copy(other, fill(graph_, memory_, 4, 1)), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(KernelNodeTest, ANodeRunsInTheClustersOfItsAttribute) {
  constexpr const char* kText =
      ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry size(.param .u64 to) {\n"
      ".reg .b32 %r;\n.reg .b64 %d;\nld.param.u64 %d, [to];\nmov.u32 %r, %cluster_nctaid.x;\n"
      "st.global.u32 [%d], %r;\nret;\n}\n";
  CUmodule module = nullptr;
  CUDA_KERNEL_NODE_PARAMS_v2 params = store(0);
  ASSERT_EQ(symbol<CUresult(CUmodule*, const void*)>("cuModuleLoadData")(&module, kText),
            CUDA_SUCCESS);
  ASSERT_EQ(symbol<CUresult(CUfunction*, CUmodule, const char*)>("cuModuleGetFunction")(
                &params.func, module, "size"),
            CUDA_SUCCESS);
  params.gridDimX = 4;
  void* arguments[] = {&memory_};
  params.kernelParams = arguments;
  CUgraphNode node = nullptr;
  auto* add = symbol<CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t,
                              const CUDA_KERNEL_NODE_PARAMS_v2*)>("cuGraphAddKernelNode_v2");
  ASSERT_EQ(add(&node, graph_, nullptr, 0, &params), CUDA_SUCCESS);
  EXPECT_EQ(after(instantiate(graph_)), 1u);
  auto* set = symbol<CUresult(CUgraphNode, CUkernelNodeAttrID, const CUkernelNodeAttrValue*)>(
      "cuGraphKernelNodeSetAttribute");
  CUkernelNodeAttrValue value{};
  value.clusterDim = {2, 1, 1};
  ASSERT_EQ(set(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value), CUDA_SUCCESS);
  EXPECT_EQ(after(instantiate(graph_)), 2u);
  value.clusterDim.x = 3;
  EXPECT_EQ(set(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value),
            CUDA_ERROR_INVALID_CLUSTER_SIZE);
  EXPECT_EQ(after(instantiate(graph_)), 2u);
}

}  // namespace
}  // namespace cuvmm::emulator::testing
