// SPDX-License-Identifier: Apache-2.0
// Work that fails on the device, in streams that do their work at once: the call that queues the
// work succeeds, and the later calls of the context answer the fault. With late streams,
// late_memory_test.cc has the same.
#include <functional>
#include <string>

#include "emulator/testing.h"

namespace cuvmm::emulator::testing {
namespace {

// put(to) writes a word, stop() traps, claim() fails an assertion.
constexpr const char* kCode = R"(
.version 7.0
.target sm_75
.address_size 64
.extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);
.global .align 1 .b8 text[4] = {110, 111, 33, 0};
.visible .entry put(.param .u64 to) {
  .reg .u64 %a; .reg .u32 %w;
  ld.param.u64 %a, [to];
  mov.u32 %w, 7;
  st.global.u32 [%a], %w;
  ret;
}
.visible .entry stop(.param .u64 unused) { trap; }
.visible .entry claim(.param .u64 unused) {
  .reg .u64 %z; .reg .u32 %l;
  mov.u64 %z, text;
  cvta.global.u64 %z, %z;
  mov.u32 %l, 1;
  {
    .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;
    st.param.b64 [a], %z; st.param.b64 [b], %z; st.param.b32 [c], %l; st.param.b64 [d], %z; st.param.b64 [e], %z;
    call.uni __assertfail, (a, b, c, d, e);
  }
  ret;
}
)";

constexpr CUresult kIllegal = CUDA_ERROR_ILLEGAL_ADDRESS;

// A context with a stream, memory and code, which a test may lose.
struct Place {
  explicit Place(int device = 0) : own(device) {
    EXPECT_EQ(driver()(calls::StreamCreate{&stream, CU_STREAM_NON_BLOCKING}), CUDA_SUCCESS);
    EXPECT_EQ(driver()(calls::StreamCreate{&idle, CU_STREAM_NON_BLOCKING}), CUDA_SUCCESS);
    EXPECT_EQ(driver()(calls::EventCreate{&event, CU_EVENT_DISABLE_TIMING}), CUDA_SUCCESS);
    EXPECT_EQ(driver()(calls::EventRecord{event, idle}), CUDA_SUCCESS);
    EXPECT_EQ(driver()(calls::MemAlloc{&memory, 4096}), CUDA_SUCCESS);
    EXPECT_EQ(symbol<CUresult(CUmodule*, const void*)>("cuModuleLoadData")(&module, kCode),
              CUDA_SUCCESS);
  }
  CUfunction function(const char* name) const {
    CUfunction found = nullptr;
    EXPECT_EQ(symbol<CUresult(CUfunction*, CUmodule, const char*)>("cuModuleGetFunction")(
                  &found, module, name),
              CUDA_SUCCESS);
    return found;
  }
  CUresult launch(const char* name, CUdeviceptr to) const { return launch(function(name), to); }
  CUresult launch(CUfunction code, CUdeviceptr to) const {
    void* arguments[] = {&to};
    return driver()(calls::LaunchKernel{code, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr});
  }
  // Loses the context by a write to an address without memory.
  void lose() const { EXPECT_EQ(launch("put", 16), CUDA_SUCCESS); }

  OwnContext own;
  CUstream stream = nullptr, idle = nullptr;
  CUevent event = nullptr;
  CUdeviceptr memory = 0;
  CUmodule module = nullptr;
};

CUresult allocate() {
  CUdeviceptr memory = 0;
  return driver()(calls::MemAlloc{&memory, 64});
}

using LostContext = EmulatorTest;

TEST_F(LostContext, EachWaitAnswersTheFaultOfALaunchThatSucceeded) {
  unsigned word = 0;
  const std::pair<const char*, std::function<CUresult(const Place&)>> waits[] = {
      {"stream", [](const Place& p) { return driver()(calls::StreamSynchronize{p.stream}); }},
      {"query", [](const Place& p) { return driver()(calls::StreamQuery{p.stream}); }},
      {"idle", [](const Place& p) { return driver()(calls::StreamSynchronize{p.idle}); }},
      {"context", [](const Place&) { return driver()(calls::CtxSynchronize{}); }},
      {"event", [](const Place& p) { return driver()(calls::EventSynchronize{p.event}); }},
      {"ask", [](const Place& p) { return driver()(calls::EventQuery{p.event}); }},
      {"copy",
       [&](const Place& p) {
         return driver()(calls::MemcpyDtoH{&word, p.memory, 4});
       }},
      {"fill",
       [](const Place& p) {
         return driver()(calls::MemsetD8{p.memory, 0, 4});
       }},
      {"free", [](const Place& p) { return driver()(calls::MemFree{p.memory}); }},
      {"allocate", [](const Place&) { return allocate(); }},
  };
  for (const auto& [name, wait] : waits) {
    const Place place;
    place.lose();
    EXPECT_EQ(wait(place), kIllegal) << name;
    EXPECT_EQ(wait(place), kIllegal) << name << " once more";
  }
}

TEST_F(LostContext, TheFaultIsTheKernels) {
  for (const auto& [name, to, fault] :
       {std::tuple("put", CUdeviceptr{0}, kIllegal),
        std::tuple("put", CUdeviceptr{17}, CUDA_ERROR_MISALIGNED_ADDRESS),
        std::tuple("stop", CUdeviceptr{0}, CUDA_ERROR_LAUNCH_FAILED),
        std::tuple("claim", CUdeviceptr{0}, CUDA_ERROR_ASSERT)}) {
    const Place place;
    EXPECT_EQ(place.launch(name, to), CUDA_SUCCESS);
    EXPECT_EQ(driver()(calls::StreamSynchronize{place.stream}), fault) << name;
    EXPECT_EQ(driver()(calls::CtxSynchronize{}), fault) << name << " stays";
  }
}

TEST_F(LostContext, TakesNoMoreWork) {
  const Place place;
  const CUfunction put = place.function("put");
  place.lose();
  EXPECT_EQ(place.launch(put, place.memory), kIllegal);
  EXPECT_EQ(driver()(calls::MemsetD8Async{place.memory, 0, 4, place.stream}), kIllegal);
  EXPECT_EQ(driver()(calls::EventRecord{place.event, place.stream}), kIllegal);
  bool called = false;
  const auto note = [](void* flag) { *static_cast<bool*>(flag) = true; };
  EXPECT_EQ(driver()(calls::LaunchHostFunc{place.stream, note, &called}), kIllegal);
  EXPECT_FALSE(called);
}

TEST_F(LostContext, CanBeAskedForAndLeft) {
  Place place;
  place.lose();
  CUcontext current = nullptr;
  int count = 0;
  EXPECT_EQ(driver()(calls::CtxGetCurrent{&current}), CUDA_SUCCESS);
  EXPECT_EQ(current, place.own.handle());
  EXPECT_EQ(driver()(calls::DeviceGetCount{&count}), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::CtxPopCurrent{&current}), CUDA_SUCCESS);
  EXPECT_EQ(allocate(), CUDA_SUCCESS) << "in the primary context";
  EXPECT_EQ(driver()(calls::StreamSynchronize{place.stream}), kIllegal);
  EXPECT_EQ(driver()(calls::MemsetD8Async{place.memory, 0, 4, place.stream}), kIllegal);
  EXPECT_EQ(driver()(calls::MemFree{place.memory}), kIllegal);
  EXPECT_EQ(driver()(calls::EventDestroy{place.event}), kIllegal);
  EXPECT_EQ(driver()(calls::StreamDestroy{place.idle}), kIllegal);
  EXPECT_EQ(driver()(calls::CtxPushCurrent{place.own.handle()}), CUDA_SUCCESS);
}

TEST_F(LostContext, OtherContextsGoOn) {
  {
    const Place lost;
    lost.lose();
    const Place beside, elsewhere(1);
    EXPECT_EQ(elsewhere.launch("put", elsewhere.memory), CUDA_SUCCESS);
    EXPECT_EQ(driver()(calls::CtxSynchronize{}), CUDA_SUCCESS);
  }
  const Place later;
  EXPECT_EQ(later.launch("put", later.memory), CUDA_SUCCESS);
  unsigned word = 0;
  EXPECT_EQ(driver()(calls::MemcpyDtoH{&word, later.memory, 4}), CUDA_SUCCESS);
  EXPECT_EQ(word, 7u);
}

TEST_F(LostContext, IsWholeAgainBehindAResetOfThePrimaryContext) {
  CUcontext primary = nullptr;
  ASSERT_EQ(driver()(calls::DevicePrimaryCtxRetain{&primary, 2}), CUDA_SUCCESS);
  ASSERT_EQ(driver()(calls::CtxPushCurrent{primary}), CUDA_SUCCESS);
  CUmodule module = nullptr;
  auto* load = symbol<CUresult(CUmodule*, const void*)>("cuModuleLoadData");
  ASSERT_EQ(load(&module, kCode), CUDA_SUCCESS);
  CUfunction stop = nullptr;
  ASSERT_EQ(symbol<CUresult(CUfunction*, CUmodule, const char*)>("cuModuleGetFunction")(
                &stop, module, "stop"),
            CUDA_SUCCESS);
  CUdeviceptr unused = 0;
  void* arguments[] = {&unused};
  EXPECT_EQ(driver()(calls::LaunchKernel{stop, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr}),
            CUDA_SUCCESS);
  EXPECT_EQ(allocate(), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(driver()(calls::DevicePrimaryCtxReset{2}), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::DevicePrimaryCtxRetain{&primary, 2}), CUDA_SUCCESS);
  EXPECT_EQ(allocate(), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::CtxPopCurrent{&primary}), CUDA_SUCCESS);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(driver()(calls::DevicePrimaryCtxRelease{2}), CUDA_SUCCESS);
  }
}

TEST_F(LostContext, IsLostByAGraphToo) {
  const Place place;
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  constexpr auto kRelaxed = CU_STREAM_CAPTURE_MODE_RELAXED;
  ASSERT_EQ(driver()(calls::StreamBeginCapture{place.stream, kRelaxed}), CUDA_SUCCESS);
  place.lose();
  ASSERT_EQ(driver()(calls::StreamEndCapture{place.stream, &graph}), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::CtxSynchronize{}), CUDA_SUCCESS);
  ASSERT_EQ(driver()(calls::GraphInstantiateWithFlags{&executable, graph, 0}), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::GraphLaunch{executable, place.stream}), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::StreamSynchronize{place.stream}), kIllegal);
  EXPECT_EQ(driver()(calls::GraphLaunch{executable, place.stream}), kIllegal);
}

// An H200 looks at the words at the launch.
TEST_F(LostContext, IsNotLostByAGraphsWordWithoutMemory) {
  const Place place;
  CUstreamBatchMemOpParams word{};
  word.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  word.writeValue.address = place.memory;
  const CUDA_BATCH_MEM_OP_NODE_PARAMS batch{place.own.handle(), 1, &word, 0};
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec executable = nullptr;
  ASSERT_EQ(symbol<CUresult(CUgraph*, unsigned)>("cuGraphCreate")(&graph, 0), CUDA_SUCCESS);
  using Add = CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t,
                       const CUDA_BATCH_MEM_OP_NODE_PARAMS*);
  ASSERT_EQ(symbol<Add>("cuGraphAddBatchMemOpNode")(&node, graph, nullptr, 0, &batch),
            CUDA_SUCCESS);
  ASSERT_EQ(driver()(calls::GraphInstantiateWithFlags{&executable, graph, 0}), CUDA_SUCCESS);
  ASSERT_EQ(driver()(calls::MemFree{place.memory}), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::GraphLaunch{executable, place.stream}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver()(calls::StreamSynchronize{place.stream}), CUDA_SUCCESS);
}

// As on an H200.
TEST_F(LostContext, LeavesTheMemoryOfNoContextUsable) {
  const Mapped m = mapped();
  const Place place;
  place.lose();
  EXPECT_EQ(allocate(), kIllegal);
  end(mapped());
  CUmemoryPool pool = nullptr;
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = properties().location;
  EXPECT_EQ(driver()(calls::MemPoolCreate{&pool, &props}), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::MemPoolDestroy{pool}), CUDA_SUCCESS);
  unsigned type = 0;
  EXPECT_EQ(
      driver()(calls::PointerGetAttribute{&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, place.memory}),
      CUDA_SUCCESS);
  end(m);
}

TEST_F(LostContext, RefusesNodesThatWorkInIt) {
  const Place place;
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  ASSERT_EQ(symbol<CUresult(CUgraph*, unsigned)>("cuGraphCreate")(&graph, 0), CUDA_SUCCESS);
  place.lose();
  CUDA_MEMSET_NODE_PARAMS fill{};
  fill.dst = place.memory;
  fill.elementSize = fill.width = fill.height = 1;
  using Add = CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t,
                       const CUDA_MEMSET_NODE_PARAMS*, CUcontext);
  EXPECT_EQ(
      symbol<Add>("cuGraphAddMemsetNode")(&node, graph, nullptr, 0, &fill, place.own.handle()),
      kIllegal);
  EXPECT_EQ(symbol<CUresult(CUgraph)>("cuGraphDestroy")(graph), CUDA_SUCCESS);
}

TEST_F(LostContext, ItsMemoryIsNotFreedWithoutAContextEither) {
  const Place place;
  void* host = nullptr;
  ASSERT_EQ(driver()(calls::MemHostAlloc{&host, 64, 0}), CUDA_SUCCESS);
  place.lose();
  ASSERT_EQ(driver()(calls::CtxSetCurrent{nullptr}), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::MemFree{place.memory}), kIllegal);
  EXPECT_EQ(driver()(calls::MemFreeHost{host}), kIllegal);
  ASSERT_EQ(driver()(calls::CtxSetCurrent{place.own.handle()}), CUDA_SUCCESS);
}

}  // namespace
}  // namespace cuvmm::emulator::testing
