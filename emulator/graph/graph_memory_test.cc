// SPDX-License-Identifier: Apache-2.0
// Allocation nodes of graphs: the attributes of their device's memory, and the calls that such
// graphs forbid.
#include <utility>

#include "emulator/testing.h"

namespace cuvmm::emulator::testing {
namespace {

class GraphMemory : public EmulatorTest {
 protected:
  using Access = CUresult(CUdevice, CUgraphMem_attribute, void*);
  static constexpr cuuint64_t kChunk = cuuint64_t{32} << 20;

  void SetUp() override {
    EmulatorTest::SetUp();
    ASSERT_EQ(symbol<CUresult(CUgraph*, unsigned)>("cuGraphCreate")(&graph_, 0), CUDA_SUCCESS);
    params_.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    params_.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    params_.bytesize = 100;
    // Other tests do not destroy their executable graphs.
    EXPECT_EQ(symbol<CUresult(CUdevice)>("cuDeviceGraphMemTrim")(0), CUDA_SUCCESS);
    EXPECT_EQ(set(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, 0), CUDA_SUCCESS);
    EXPECT_EQ(set(CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH, 0), CUDA_SUCCESS);
    before_ = attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT);
  }
  void TearDown() override {
    EXPECT_EQ(symbol<CUresult(CUgraph)>("cuGraphDestroy")(graph_), CUDA_SUCCESS);
    EXPECT_EQ(symbol<CUresult(CUdevice)>("cuDeviceGraphMemTrim")(0), CUDA_SUCCESS);
  }
  CUresult allocate() {
    return symbol<CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t,
                           CUDA_MEM_ALLOC_NODE_PARAMS*)>("cuGraphAddMemAllocNode")(
        &node_, graph_, nullptr, 0, &params_);
  }
  CUresult free(CUdeviceptr address) {
    CUgraphNode made = nullptr;
    return symbol<CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUdeviceptr)>(
        "cuGraphAddMemFreeNode")(&made, graph_, &node_, 1, address);
  }
  CUresult instantiate(CUgraphExec* out, unsigned long long flags = 0) {
    return symbol<CUresult(CUgraphExec*, CUgraph, unsigned long long)>(
        "cuGraphInstantiateWithFlags")(out, graph_, flags);
  }
  static CUresult launch(CUgraphExec made) {
    return symbol<CUresult(CUgraphExec, CUstream)>("cuGraphLaunch")(made, nullptr);
  }
  static void end(CUgraphExec made) {
    EXPECT_EQ(symbol<CUresult(CUgraphExec)>("cuGraphExecDestroy")(made), CUDA_SUCCESS);
  }
  /// The value of an attribute, less its value before the test.
  cuuint64_t attribute(CUgraphMem_attribute which) const {
    cuuint64_t value = ~cuuint64_t{0};
    EXPECT_EQ(symbol<Access>("cuDeviceGetGraphMemAttribute")(0, which, &value), CUDA_SUCCESS);
    return value - before_;
  }
  /// The address that a reservation with a hint gets; the reservation ends at once.
  static CUdeviceptr reserve_at(CUdeviceptr wish) {
    CUdeviceptr address = 0;
    EXPECT_EQ(driver()(calls::MemAddressReserve{&address, kGranule, 0, wish, 0}), CUDA_SUCCESS);
    EXPECT_EQ(driver()(calls::MemAddressFree{address, kGranule}), CUDA_SUCCESS);
    return address;
  }
  static CUresult set(CUgraphMem_attribute which, cuuint64_t value) {
    return symbol<Access>("cuDeviceSetGraphMemAttribute")(0, which, &value);
  }

  CUgraph graph_ = nullptr;
  CUgraphNode node_ = nullptr;
  cuuint64_t before_ = 0;
  CUDA_MEM_ALLOC_NODE_PARAMS params_{};
};

TEST_F(GraphMemory, IsReservedUntilItIsTrimmed) {
  ASSERT_EQ(allocate(), CUDA_SUCCESS);
  ASSERT_EQ(free(params_.dptr), CUDA_SUCCESS);
  CUgraphExec made = nullptr;
  ASSERT_EQ(instantiate(&made), CUDA_SUCCESS);
  EXPECT_EQ(attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 0u);
  EXPECT_EQ(driver()(calls::GraphUpload{made, nullptr}), CUDA_SUCCESS);
  EXPECT_EQ(attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), kChunk) << "an H100";
  for (int i = 0; i < 2; ++i) ASSERT_EQ(launch(made), CUDA_SUCCESS);
  EXPECT_EQ(attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), kChunk)
      << "the graph has freed it (an H100)";
  EXPECT_EQ(attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), kChunk);
  end(made);
  EXPECT_EQ(attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), kChunk);
  EXPECT_EQ(attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), kChunk);
  ASSERT_EQ(symbol<CUresult(CUdevice)>("cuDeviceGraphMemTrim")(0), CUDA_SUCCESS);
  EXPECT_EQ(attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 0u);
  EXPECT_EQ(attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 0u);
  EXPECT_EQ(attribute(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH), kChunk);
  EXPECT_EQ(set(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, 0), CUDA_SUCCESS);
  EXPECT_EQ(set(CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH, 0), CUDA_SUCCESS);
  EXPECT_EQ(attribute(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH), 0u);
  cuuint64_t value = 0;
  EXPECT_EQ(
      symbol<Access>("cuDeviceGetGraphMemAttribute")(99, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &value),
      CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(GraphMemory, StaysInUseAsLongAsAnAllocationLives) {
  ASSERT_EQ(allocate(), CUDA_SUCCESS);
  CUgraphExec made = nullptr;
  ASSERT_EQ(instantiate(&made), CUDA_SUCCESS);
  ASSERT_EQ(launch(made), CUDA_SUCCESS);
  CUmemoryPool pool = reinterpret_cast<CUmemoryPool>(1);
  EXPECT_EQ(driver()(calls::PointerGetAttribute{&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE,
                                                params_.dptr}),
            CUDA_SUCCESS);
  EXPECT_EQ(pool, nullptr);
  end(made);
  ASSERT_EQ(symbol<CUresult(CUdevice)>("cuDeviceGraphMemTrim")(0), CUDA_SUCCESS);
  EXPECT_EQ(attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), kChunk);
  EXPECT_EQ(driver()(calls::MemFree{params_.dptr}), CUDA_SUCCESS);
  EXPECT_EQ(attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), kChunk);
  ASSERT_EQ(symbol<CUresult(CUdevice)>("cuDeviceGraphMemTrim")(0), CUDA_SUCCESS);
  EXPECT_EQ(attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 0u);
}

// An H100, which refuses words in memory of pools, too.
TEST_F(GraphMemory, HoldsNoWordsOfStreams) {
  ASSERT_EQ(allocate(), CUDA_SUCCESS);
  CUgraphExec made = nullptr;
  ASSERT_EQ(instantiate(&made), CUDA_SUCCESS);
  ASSERT_EQ(launch(made), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::StreamWriteValue32{nullptr, params_.dptr, 1, 0}),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver()(calls::StreamWaitValue64{nullptr, params_.dptr, 0, 0}),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver()(calls::MemFree{params_.dptr}), CUDA_SUCCESS);
  end(made);
}

TEST_F(GraphMemory, IsFreedAtTheNextLaunchWhereThatIsAskedFor) {
  ASSERT_EQ(allocate(), CUDA_SUCCESS);
  CUgraphExec made = nullptr;
  ASSERT_EQ(instantiate(&made, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH), CUDA_SUCCESS);
  for (int i = 0; i < 2; ++i) ASSERT_EQ(launch(made), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::MemsetD8{params_.dptr, 1, 100}), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::MemFree{params_.dptr}), CUDA_SUCCESS);
  end(made);
}

TEST_F(GraphMemory, WrongNodesAreRefused) {
  ASSERT_EQ(allocate(), CUDA_SUCCESS);
  EXPECT_EQ(free(0x1000), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(free(params_.dptr), CUDA_SUCCESS);
  EXPECT_EQ(free(params_.dptr), CUDA_ERROR_INVALID_VALUE) << "twice in one graph";
  params_.bytesize = 0;
  EXPECT_EQ(allocate(), CUDA_ERROR_INVALID_VALUE);
  params_.bytesize = 1;
  params_.poolProps.location.id = 99;
  EXPECT_EQ(allocate(), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphMemory, ItsGraphIsInstantiatedOnceAtATimeAndNeverCloned) {
  ASSERT_EQ(allocate(), CUDA_SUCCESS);
  CUgraphExec made = nullptr, second = nullptr;
  ASSERT_EQ(instantiate(&made), CUDA_SUCCESS);
  EXPECT_EQ(instantiate(&second), CUDA_ERROR_NOT_SUPPORTED);
  end(made);
  ASSERT_EQ(instantiate(&made), CUDA_SUCCESS);
  end(made);
  CUgraph clone = nullptr;
  auto* clone_it = symbol<CUresult(CUgraph*, CUgraph)>("cuGraphClone");
  EXPECT_EQ(clone_it(&clone, graph_), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(symbol<CUresult(CUgraphNode)>("cuGraphDestroyNode")(node_), CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(GraphMemory, ItsAddressIsItsOwnBetweenLaunches) {
  ASSERT_EQ(allocate(), CUDA_SUCCESS);
  ASSERT_EQ(free(params_.dptr), CUDA_SUCCESS);
  CUgraphExec made = nullptr;
  ASSERT_EQ(instantiate(&made), CUDA_SUCCESS);
  ASSERT_EQ(launch(made), CUDA_SUCCESS);
  // Memory is placed at the lowest free address, or at the hint.
  CUdeviceptr plain = 0, pooled = 0;
  ASSERT_EQ(driver()(calls::MemAlloc{&plain, 100}), CUDA_SUCCESS);
  ASSERT_EQ(driver()(calls::MemAllocAsync{&pooled, 100, nullptr}), CUDA_SUCCESS);
  const CUdeviceptr wished = reserve_at(params_.dptr);
  for (const CUdeviceptr other : {plain, pooled, wished}) EXPECT_NE(other, params_.dptr);
  EXPECT_EQ(launch(made), CUDA_SUCCESS);
  end(made);
  EXPECT_NE(reserve_at(params_.dptr), params_.dptr) << "the graph can still be instantiated";
  EXPECT_EQ(driver()(calls::MemFree{plain}), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::MemFreeAsync{pooled, nullptr}), CUDA_SUCCESS);
}

TEST_F(GraphMemory, TwoGraphsHaveTheirOwnAddresses) {
  ASSERT_EQ(allocate(), CUDA_SUCCESS);
  ASSERT_EQ(free(params_.dptr), CUDA_SUCCESS);
  CUgraphExec first = nullptr, second = nullptr;
  ASSERT_EQ(instantiate(&first), CUDA_SUCCESS);
  ASSERT_EQ(launch(first), CUDA_SUCCESS);
  const CUdeviceptr address = params_.dptr;
  CUgraph old_graph = std::exchange(graph_, nullptr);
  ASSERT_EQ(symbol<CUresult(CUgraph*, unsigned)>("cuGraphCreate")(&graph_, 0), CUDA_SUCCESS);
  ASSERT_EQ(allocate(), CUDA_SUCCESS);
  EXPECT_NE(params_.dptr, address);
  ASSERT_EQ(instantiate(&second), CUDA_SUCCESS);
  ASSERT_EQ(launch(second), CUDA_SUCCESS);
  EXPECT_EQ(launch(first), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::MemFree{params_.dptr}), CUDA_SUCCESS) << "that of the second is there";
  end(first);
  end(second);
  EXPECT_EQ(symbol<CUresult(CUgraph)>("cuGraphDestroy")(old_graph), CUDA_SUCCESS);
}

TEST_F(GraphMemory, ItsAddressEndsWithTheGraphAndWithWhatItLeft) {
  ASSERT_EQ(allocate(), CUDA_SUCCESS);
  CUgraphExec made = nullptr;
  ASSERT_EQ(instantiate(&made), CUDA_SUCCESS);
  ASSERT_EQ(launch(made), CUDA_SUCCESS);
  end(made);
  EXPECT_EQ(symbol<CUresult(CUgraph)>("cuGraphDestroy")(graph_), CUDA_SUCCESS);
  ASSERT_EQ(symbol<CUresult(CUgraph*, unsigned)>("cuGraphCreate")(&graph_, 0), CUDA_SUCCESS);
  EXPECT_NE(reserve_at(params_.dptr), params_.dptr) << "its memory is still there";
  EXPECT_EQ(driver()(calls::MemsetD8{params_.dptr, 1, 100}), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::MemFree{params_.dptr}), CUDA_SUCCESS);
  EXPECT_EQ(reserve_at(params_.dptr), params_.dptr);
  CUdeviceptr plain = 0;
  ASSERT_EQ(driver()(calls::MemAlloc{&plain, 100}), CUDA_SUCCESS);
  EXPECT_NE(plain, params_.dptr) << "other memory lies elsewhere";
  EXPECT_EQ(driver()(calls::MemFree{plain}), CUDA_SUCCESS);
}

TEST_F(GraphMemory, AnAllocationBehindAFreeHasItsAddress) {
  ASSERT_EQ(allocate(), CUDA_SUCCESS);
  const CUdeviceptr first = params_.dptr;
  CUgraphNode freed = nullptr;
  using Free = CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUdeviceptr);
  ASSERT_EQ(symbol<Free>("cuGraphAddMemFreeNode")(&freed, graph_, &node_, 1, first), CUDA_SUCCESS);
  using Add =
      CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUDA_MEM_ALLOC_NODE_PARAMS*);
  auto* add = symbol<Add>("cuGraphAddMemAllocNode");
  ASSERT_EQ(add(&node_, graph_, nullptr, 0, &params_), CUDA_SUCCESS);
  EXPECT_NE(params_.dptr, first) << "nothing orders it behind the free";
  params_.bytesize = 512;  // rounds to as much as the first one's 100 (an H100)
  ASSERT_EQ(add(&node_, graph_, &freed, 1, &params_), CUDA_SUCCESS);
  EXPECT_EQ(params_.dptr, first);
  CUgraphExec made = nullptr;
  ASSERT_EQ(instantiate(&made), CUDA_SUCCESS);
  ASSERT_EQ(launch(made), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::MemsetD8{first, 1, 512}), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::MemsetD8{first, 1, 513}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver()(calls::MemFree{first}), CUDA_SUCCESS);
  end(made);
}

}  // namespace
}  // namespace cuvmm::emulator::testing
