// SPDX-License-Identifier: Apache-2.0
// Kernels that run: launched by every call that launches, on memory of all kinds.
#include <fstream>
#include <iterator>
#include <numeric>
#include <utility>
#include <vector>

#include "emulator/testing.h"

namespace cuvmm::emulator::testing {
namespace {

using GetFunction = CUresult(CUfunction*, CUmodule, const char*);
using Load = CUresult(CUmodule*, const void*);

class KernelTest : public EmulatorTest {
 protected:
  void SetUp() override {
    EmulatorTest::SetUp();
    module_ = loaded();
  }
  void TearDown() override { symbol<CUresult(CUmodule)>("cuModuleUnload")(module_); }

  static CUmodule loaded() {
    CUmodule module = nullptr;
    std::ifstream file(CUVMM_PTX_KERNELS);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(symbol<Load>("cuModuleLoadData")(&module, text.c_str()), CUDA_SUCCESS);
    return module;
  }

  CUfunction function(const char* name) {
    CUfunction found = nullptr;
    EXPECT_OK(symbol<GetFunction>("cuModuleGetFunction")(&found, module_, name));
    return found;
  }
  struct Grid {
    unsigned blocks = 1, threads = 32, shared = 0;
    CUstream stream = nullptr;
  };
  template <class... Arguments>
  CUresult launch(const char* name, const Grid& grid, Arguments... arguments) {
    void* parameters[] = {&arguments..., nullptr};
    return driver()(calls::LaunchKernel{function(name), grid.blocks, 1, 1, grid.threads, 1, 1,
                                        grid.shared, grid.stream, parameters, nullptr});
  }
  // Launches in the current context, which may be lost then. The result of the work.
  template <class... Arguments>
  CUresult ran_here(const char* name, const Grid& grid, Arguments... arguments) {
    CUmodule module = std::exchange(module_, loaded());
    EXPECT_EQ(launch(name, grid, arguments...), CUDA_SUCCESS);
    module_ = module;
    return driver()(calls::CtxSynchronize{});
  }
  template <class... Arguments>
  CUresult ran(const char* name, const Grid& grid, Arguments... arguments) {
    const OwnContext own;
    return ran_here(name, grid, arguments...);
  }
  template <class T>
  static void put(CUdeviceptr to, const std::vector<T>& values) {
    ASSERT_OK(driver()(calls::MemcpyHtoD{to, values.data(), values.size() * sizeof(T)}));
  }
  template <class T>
  static std::vector<T> take(CUdeviceptr from, std::size_t count) {
    std::vector<T> values(count);
    EXPECT_OK(driver()(calls::MemcpyDtoH{values.data(), from, count * sizeof(T)}));
    return values;
  }
  CUmodule module_ = nullptr;
};

template <class T>
std::vector<T> counting(std::size_t count, T first = 0) {
  std::vector<T> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

TEST_F(KernelTest, TheDeviceSaysThatItLaunchesCooperativeKernels) {
  int value = 0;
  constexpr CUdevice_attribute kWhich = CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH;
  ASSERT_OK(driver()(calls::DeviceGetAttribute{&value, kWhich, 0}));
  EXPECT_EQ(value, 1);
}

TEST_F(KernelTest, VectorsAreAdded) {
  constexpr int kCount = 5000;
  const Mapped m = mapped();
  const CUdeviceptr a = m.address, b = a + 4 * kCount, c = b + 4 * kCount;
  put(a, counting<float>(kCount));
  put(b, counting<float>(kCount, 1));
  ASSERT_OK(launch("vector_add", {.blocks = 20, .threads = 256}, a, b, c, kCount));
  const auto sums = take<float>(c, kCount + 1);
  for (int i = 0; i < kCount; ++i) {
    ASSERT_EQ(sums[static_cast<std::size_t>(i)], 2.0f * static_cast<float>(i) + 1) << i;
  }
  EXPECT_EQ(sums[kCount], 0) << "nothing is written behind the last one";
  end(m);
}

TEST_F(KernelTest, GridStridesSumsAndSharedMemory) {
  constexpr int kCount = 10007;
  const Mapped m = mapped();
  const CUdeviceptr out = m.address + (1 << 20);
  put(m.address, counting<int>(kCount));
  ASSERT_OK(launch("reduce", {.blocks = 7, .threads = 256}, m.address, out, kCount));
  EXPECT_EQ(take<int>(out, 1)[0], kCount * (kCount - 1) / 2);
  ASSERT_OK(launch("reverse", {.blocks = 2, .threads = 100, .shared = 400}, m.address));
  const auto turned = take<int>(m.address, 200);
  EXPECT_EQ(turned[0], 99);
  EXPECT_EQ(turned[99], 0);
  EXPECT_EQ(turned[100], 199);
  EXPECT_EQ(ran("reverse", {.threads = 100, .shared = 300}, m.address), CUDA_ERROR_ILLEGAL_ADDRESS)
      << "shared memory ends where the launch says";
  ASSERT_OK(launch("fill", {.blocks = 3, .threads = 64}, m.address, char{7}, 1001ul));
  EXPECT_EQ(take<char>(m.address, 1002)[1000], 7);
  end(m);
}

TEST_F(KernelTest, StructuresCallsTablesAndSwitches) {
  struct Pair {
    double wide;
    int few[4];
  };
  const Mapped m = mapped();
  const CUdeviceptr to = m.address + (1 << 20);
  put(m.address, std::vector<Pair>{{1.5, {1, 2, 3, 4}}, {2.5, {5, 6, 7, 8}}});
  ASSERT_OK(launch("copy_pairs", {}, m.address, to, Pair{0.25, {10, 20, 30, 40}}, 2));
  const auto pairs = take<Pair>(to, 3);
  EXPECT_EQ(pairs[1].wide, 2.75);
  EXPECT_EQ(pairs[1].few[3], 48);
  EXPECT_EQ(pairs[2].few[0], 0);
  ASSERT_OK(launch("collatz_all", {.threads = 40}, m.address, to));
  EXPECT_EQ(take<long>(m.address, 27)[26], 111);
  EXPECT_EQ(take<long>(to, 27)[26], 9232);
  ASSERT_OK(launch("look_up", {.threads = 8}, m.address));
  EXPECT_EQ(take<int>(m.address, 8), (std::vector<int>{4, 5, 60, -1, 48, 9, 2, 6}));
  end(m);
}

TEST_F(KernelTest, ThreadsThatWaitForOthersLetThemRun) {
  const Mapped m = mapped();
  ASSERT_OK(launch("locked_increment", {.threads = 64}, m.address, m.address + 4));
  EXPECT_EQ(take<int>(m.address, 2), (std::vector<int>{0, 64}));
  ASSERT_OK(launch("meet", {.blocks = 9, .threads = 33}, m.address, m.address + 4));
  EXPECT_EQ(take<int>(m.address, 2), (std::vector<int>{9, 64 + 9}));
  end(m);
}

TEST_F(KernelTest, ParametersComePackedToo) {
  const Mapped m = mapped();
  struct {
    CUdeviceptr to;
    unsigned char value;
    std::uint64_t count;
  } packed{m.address, 9, 5};
  std::size_t size = sizeof packed;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   CU_LAUNCH_PARAM_END};
  const auto with = [&](void** parameters, void** words) {
    return driver()(
        calls::LaunchKernel{function("fill"), 1, 1, 1, 32, 1, 1, 0, nullptr, parameters, words});
  };
  ASSERT_OK(with(nullptr, extra));
  EXPECT_EQ(take<char>(m.address, 6), (std::vector<char>{9, 9, 9, 9, 9, 0}));
  size = 12;
  packed.value = 8;
  EXPECT_OK(with(nullptr, extra));
  EXPECT_EQ(take<char>(m.address, 1)[0], 9) << "the count that is missing is 0 (an H100)";
  EXPECT_EQ(with(nullptr, nullptr), CUDA_ERROR_INVALID_VALUE) << "no parameters at all";
  std::size_t offset = 0, bytes = 0;
  auto* parameter =
      symbol<CUresult(CUfunction, std::size_t, std::size_t*, std::size_t*)>("cuFuncGetParamInfo");
  ASSERT_OK(parameter(function("fill"), 1, &offset, &bytes));
  EXPECT_EQ(offset, 8u);
  EXPECT_EQ(bytes, 1u);
  end(m);
}

// The codes are an H100's.
TEST_F(KernelTest, AttributesOfALaunchAreChecked) {
  const Mapped m = mapped();
  CUdeviceptr to = m.address;
  unsigned char value = 1;
  std::uint64_t count = 1;
  void* parameters[] = {&to, &value, &count};
  CUlaunchAttribute attribute{};
  CUlaunchConfig config{};
  config.gridDimX = 4;
  config.gridDimY = config.gridDimZ = config.blockDimX = config.blockDimY = config.blockDimZ = 1;
  config.numAttrs = 1;
  const CUfunction fill = function("fill");
  const auto launched = [&] {
    CUresult result = CUDA_ERROR_UNKNOWN;
    stderr_of([&] {
      result = driver()(calls::LaunchKernelEx{&config, fill, parameters, nullptr});
    });
    return result;
  };
  EXPECT_EQ(launched(), CUDA_ERROR_INVALID_VALUE) << "an attribute is counted, and none is given";
  config.attrs = &attribute;
  EXPECT_OK(launched());
  attribute.id = static_cast<CUlaunchAttributeID>(99);
  EXPECT_EQ(launched(), CUDA_ERROR_INVALID_VALUE);
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
  for (const unsigned blocks : {0u, 3u, 16u}) {
    attribute.value.clusterDim.x = blocks;
    EXPECT_EQ(launched(), CUDA_ERROR_INVALID_CLUSTER_SIZE) << blocks;
  }
  for (const unsigned blocks : {1u, 2u, 4u}) {
    attribute.value.clusterDim.x = blocks;
    EXPECT_OK(launched()) << blocks;
  }
  config.numAttrs = 0;
  auto* set = symbol<CUresult(CUfunction, CUfunction_attribute, int)>("cuFuncSetAttribute");
  ASSERT_OK(set(fill, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 1));
  EXPECT_EQ(launched(), CUDA_ERROR_INVALID_CLUSTER_SIZE) << "a height of 0 is set beside it";
  ASSERT_OK(set(fill, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 0));
  EXPECT_OK(launched());
  end(m);
}

// `own` has a size of its own, which no launch may change.
TEST_F(KernelTest, ABlockKnowsItsPlaceInTheClusterOfTheLaunch) {
  constexpr const char* kText =
      ".version 8.0\n.target sm_90\n.address_size 64\n"
      ".visible .entry any(.param .u64 to) {\n.reg .b32 %r<4>;\n.reg .b64 %d<3>;\n"
      "ld.param.u64 %d0, [to];\nmov.u32 %r0, %cluster_ctarank;\nmov.u32 %r1, %ctaid.x;\n"
      "mul.wide.u32 %d1, %r1, 4;\nadd.u64 %d2, %d0, %d1;\nst.global.u32 [%d2], %r0;\nret;\n}\n"
      ".visible .entry own(.param .u64 to) .explicitcluster .reqnctapercluster 4 {\n"
      ".reg .b32 %r<4>;\n.reg .b64 %d<3>;\n"
      "ld.param.u64 %d0, [to];\nmov.u32 %r0, %cluster_nctaid.x;\nst.global.u32 [%d0], %r0;\n"
      "ret;\n}\n";
  CUmodule module = nullptr;
  ASSERT_EQ(symbol<CUresult(CUmodule*, const void*)>("cuModuleLoadData")(&module, kText),
            CUDA_SUCCESS);
  const Mapped m = mapped();
  CUdeviceptr to = m.address;
  void* parameters[] = {&to};
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
  CUlaunchConfig config{};
  config.gridDimX = 4;
  config.gridDimY = config.gridDimZ = config.blockDimX = config.blockDimY = config.blockDimZ = 1;
  config.attrs = &attribute;
  CUfunction function = nullptr;
  const auto launched = [&](const char* name, unsigned blocks) {
    EXPECT_EQ(symbol<CUresult(CUfunction*, CUmodule, const char*)>("cuModuleGetFunction")(
                  &function, module, name),
              CUDA_SUCCESS);
    config.numAttrs = blocks != 0 ? 1 : 0;
    attribute.value.clusterDim.x = blocks;
    return driver()(calls::LaunchKernelEx{&config, function, parameters, nullptr});
  };
  using Ranks = std::vector<std::uint32_t>;
  const auto ranks = [&] {
    Ranks out(4);
    EXPECT_EQ(symbol<CUresult(void*, CUdeviceptr, std::size_t)>("cuMemcpyDtoH_v2")(
                  out.data(), to, 4 * sizeof out[0]),
              CUDA_SUCCESS);
    return out;
  };
  EXPECT_EQ(launched("any", 2), CUDA_SUCCESS);
  EXPECT_EQ(ranks(), (Ranks{0, 1, 0, 1}));
  EXPECT_EQ(launched("any", 4), CUDA_SUCCESS);
  EXPECT_EQ(ranks(), (Ranks{0, 1, 2, 3}));
  EXPECT_EQ(launched("any", 0), CUDA_SUCCESS);
  EXPECT_EQ(ranks(), (Ranks{0, 0, 0, 0}));
  EXPECT_EQ(launched("own", 0), CUDA_SUCCESS);
  EXPECT_EQ(ranks()[0], 4u);
  EXPECT_EQ(launched("own", 2), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  int width = 0;
  EXPECT_EQ(symbol<CUresult(int*, int, CUfunction)>("cuFuncGetAttribute")(
                &width, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, function),
            CUDA_SUCCESS);
  EXPECT_EQ(width, 4);
  EXPECT_EQ(symbol<CUresult(CUfunction, int, int)>("cuFuncSetAttribute")(
                function, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2),
            CUDA_ERROR_NOT_PERMITTED);
  EXPECT_EQ(symbol<CUresult(CUmodule)>("cuModuleUnload")(module), CUDA_SUCCESS);
  end(m);
}

TEST_F(KernelTest, AnAccessNeedsAMappingAndRights) {
  constexpr int kCount = 64;
  const Mapped m = mapped(), sealed = mapped();
  const CUdeviceptr a = m.address, b = a + 4 * kCount;
  const CUdeviceptr hole = reserve(kGranule);
  const std::string printed = stderr_of([&] {
    EXPECT_EQ(ran("vector_add", {.blocks = 2}, a, b, hole, kCount), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(ran("vector_add", {.blocks = 2}, a, b, hole, kCount), CUDA_ERROR_ILLEGAL_ADDRESS);
  });
  char address[32];
  std::snprintf(address, sizeof address, "0x%llx", hole);
  EXPECT_NE(printed.find("kernel `vector_add`, block (0, 0, 0), thread (0, 0, 0)"), printed.npos)
      << printed;
  EXPECT_NE(printed.find("illegal write of 4 bytes at " + std::string(address)), printed.npos)
      << printed;
  EXPECT_NE(printed.find("nothing is mapped there"), printed.npos) << printed;
  EXPECT_EQ(printed.find("illegal write"), printed.rfind("illegal write")) << "it is said once";
  ASSERT_EQ(set_access(sealed.address, kGranule, access(0, CU_MEM_ACCESS_FLAGS_PROT_READ)),
            CUDA_SUCCESS);
  EXPECT_EQ(ran("vector_add", {.blocks = 2}, a, sealed.address, b, kCount), CUDA_SUCCESS);
  EXPECT_EQ(ran("vector_add", {.blocks = 2}, a, b, sealed.address, kCount),
            CUDA_ERROR_ILLEGAL_ADDRESS)
      << "it may be read only";
  EXPECT_EQ(ran("misaligned", {.threads = 1}, a), CUDA_ERROR_MISALIGNED_ADDRESS);
  std::vector<float> pageable(kCount);
  EXPECT_EQ(ran("vector_add", {.blocks = 2}, a, b, pageable.data(), kCount),
            CUDA_ERROR_ILLEGAL_ADDRESS)
      << "memory of the host that nobody locked";
  EXPECT_OK(driver()(calls::MemAddressFree{hole, kGranule}));
  end(sealed);
  end(m);
}

TEST_F(KernelTest, OtherDevicesNeedAccessOfTheirOwn) {
  constexpr int kCount = 64;
  const Mapped m = mapped();
  CUdeviceptr plain = 0;
  ASSERT_EQ(driver()(calls::MemAlloc{&plain, 4096}), CUDA_SUCCESS);
  const auto fill = [&](CUdeviceptr at, bool peers = false) {
    const OwnContext other(1);
    auto* enable = symbol<CUresult(CUcontext, unsigned)>("cuCtxEnablePeerAccess");
    if (peers) {
      EXPECT_EQ(enable(context_, 0), CUDA_SUCCESS);
    }
    CUresult result = CUDA_ERROR_UNKNOWN;
    stderr_of([&] { result = ran_here("fill", {}, at, char{1}, std::uint64_t{kCount}); });
    return result;
  };
  EXPECT_EQ(fill(m.address), CUDA_ERROR_ILLEGAL_ADDRESS);
  ASSERT_OK(set_access(m.address, kGranule, access(1)));
  EXPECT_OK(fill(m.address));
  EXPECT_EQ(fill(plain), CUDA_ERROR_ILLEGAL_ADDRESS) << "the contexts are no peers yet";
  EXPECT_EQ(fill(plain, true), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::MemFree{plain}), CUDA_SUCCESS);
  end(m);
}

// On an H100, a launch runs in the context of its stream, and the function must be of that context.
TEST_F(KernelTest, AFunctionRunsOnStreamsOfItsContext) {
  CUfunction trap_if = function("trap_if");
  const auto run = [&](CUstream stream) {
    int no = 0;
    void* parameters[] = {&no};
    return driver()(calls::LaunchKernel{trap_if, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr});
  };
  CUcontext other = nullptr;
  CUstream own = nullptr, elsewhere = nullptr;
  ASSERT_OK(driver()(calls::StreamCreate{&own, 0}));
  ASSERT_OK(symbol<CUresult(CUcontext*, unsigned, CUdevice)>("cuCtxCreate_v2")(&other, 0, 0));
  ASSERT_OK(driver()(calls::StreamCreate{&elsewhere, 0}));
  EXPECT_EQ(run(elsewhere), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(run(nullptr), CUDA_ERROR_INVALID_HANDLE) << "the other context is current";
  EXPECT_OK(run(own));
  CUcontext popped = nullptr;
  while (driver()(calls::CtxPopCurrent{&popped}) == CUDA_SUCCESS) {
  }
  EXPECT_OK(run(own));
  EXPECT_EQ(run(nullptr), CUDA_ERROR_INVALID_CONTEXT);
  ASSERT_OK(driver()(calls::CtxSetCurrent{context_}));
  EXPECT_EQ(run(elsewhere), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_OK(driver()(calls::CtxDestroy{other}));
  EXPECT_OK(driver()(calls::StreamDestroy{own}));
}

TEST_F(KernelTest, ATrapIsALaunchFailure) {
  EXPECT_EQ(ran("trap_if", {}, 0), CUDA_SUCCESS);
  EXPECT_EQ(ran("trap_if", {}, 1), CUDA_ERROR_LAUNCH_FAILED);
}

TEST_F(KernelTest, WhatIsNotKnownIsNamedAndNothingRuns) {
  const char* const text = R"(
.version 8.3
.target sm_90
.address_size 64
.visible .entry unknown(.param .u64 to)
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [to];
  mov.u32 %r1, 5;
  st.global.u32 [%rd1], %r1;
  bogus.frob.u32 %r2, %r1;
  ret;
}
)";
  CUmodule module = nullptr;
  ASSERT_OK(symbol<Load>("cuModuleLoadData")(&module, text));
  std::swap(module, module_);
  const Mapped m = mapped();
  const std::string printed = stderr_of([&] {
    EXPECT_EQ(launch("unknown", {}, m.address), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(launch("unknown", {}, m.address), CUDA_ERROR_NOT_SUPPORTED);
  });
  EXPECT_NE(printed.find("line 12: `bogus.frob.u32`"), printed.npos) << printed;
  EXPECT_EQ(printed.find("bogus"), printed.rfind("bogus")) << "it is said once";
  EXPECT_EQ(take<int>(m.address, 1)[0], 0);
  std::swap(module, module_);
  EXPECT_OK(symbol<CUresult(CUmodule)>("cuModuleUnload")(module));
  end(m);
}

TEST_F(KernelTest, WrongPtxIsRefusedWithItsPlace) {
  auto* load_with = symbol<CUresult(CUmodule*, const void*, unsigned, CUjit_option*, void**)>(
      "cuModuleLoadDataEx");
  char log[128] = "something";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  CUmodule module = nullptr;
  EXPECT_EQ(load_with(&module, ".version 8.3\n.target sm_90\n.visible .entry f(\n  .param u64 x)\n",
                      2, options, values),
            CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(std::string(log).rfind("line 4, column 10:", 0), 0u) << log;
}

TEST_F(KernelTest, AVariableMayBeginWithAddresses) {
  const char* const text = R"(
.version 8.3
.target sm_90
.address_size 64
.global .align 4 .u32 numbers[3] = {5, 6, 7};
.global .align 8 .u64 places[2] = {generic(numbers)+8, numbers};
.visible .entry follow(.param .u64 to)
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [to];
  ld.global.u64 %rd2, [places];
  ld.u32 %r1, [%rd2];
  ld.global.u64 %rd3, [places+8];
  ld.u32 %r2, [%rd3+4];
  st.global.v2.u32 [%rd1], {%r1, %r2};
  ret;
}
)";
  CUmodule module = nullptr;
  ASSERT_OK(symbol<Load>("cuModuleLoadData")(&module, text));
  std::swap(module, module_);
  const Mapped m = mapped();
  ASSERT_OK(launch("follow", {.threads = 1}, m.address));
  EXPECT_EQ(take<int>(m.address, 2), (std::vector<int>{7, 6}));
  std::swap(module, module_);
  EXPECT_OK(symbol<CUresult(CUmodule)>("cuModuleUnload")(module));
  end(m);
}

TEST_F(KernelTest, ACapturedLaunchRunsWhenItsGraphDoes) {
  const Mapped m = mapped();
  CUstream stream = nullptr;
  ASSERT_OK(driver()(calls::StreamCreate{&stream, CU_STREAM_NON_BLOCKING}));
  ASSERT_OK(driver()(calls::StreamBeginCapture{stream, CU_STREAM_CAPTURE_MODE_RELAXED}));
  ASSERT_OK(launch("fill", {.stream = stream}, m.address, char{3}, 4ul));
  CUgraph graph = nullptr;
  ASSERT_OK(driver()(calls::StreamEndCapture{stream, &graph}));
  EXPECT_EQ(take<int>(m.address, 1)[0], 0) << "not yet";
  CUgraphExec executable = nullptr;
  ASSERT_OK(driver()(calls::GraphInstantiateWithFlags{&executable, graph, 0}));
  ASSERT_OK(driver()(calls::GraphLaunch{executable, stream}));
  EXPECT_EQ(take<int>(m.address, 1)[0], 0x03030303);
  EXPECT_OK(driver()(calls::GraphExecDestroy{executable}));
  EXPECT_OK(symbol<CUresult(CUgraph)>("cuGraphDestroy")(graph));
  EXPECT_OK(driver()(calls::StreamDestroy{stream}));
  end(m);
}

TEST_F(KernelTest, PrintsWhatItSays) {
  ::testing::internal::CaptureStdout();
  EXPECT_OK(launch("say", {.threads = 2}, 41, 1.5));
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "41 1.50 kernel\n42 1.50 kernel\n");
}

}  // namespace
}  // namespace cuvmm::emulator::testing
