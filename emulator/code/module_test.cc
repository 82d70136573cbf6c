// SPDX-License-Identifier: Apache-2.0
// Modules and libraries: load, query, launch (which is skipped) and unload.
#include <cstring>

#include "emulator/testing.h"
#include "kernels/testing_code.h"

namespace cuvmm::emulator::testing {
namespace {

using GetFunction = CUresult(CUfunction*, CUmodule, const char*);
using GetGlobal = CUresult(CUdeviceptr*, std::size_t*, CUmodule, const char*);
using FunctionAttribute = CUresult(int*, CUfunction_attribute, CUfunction);

class ModuleTest : public EmulatorTest {
 protected:
  static CUresult load(CUmodule* module, const void* image) {
    return symbol<CUresult(CUmodule*, const void*)>("cuModuleLoadData")(module, image);
  }
  static CUresult unload(CUmodule module) {
    return symbol<CUresult(CUmodule)>("cuModuleUnload")(module);
  }
  static CUresult launch(CUfunction function) {
    auto* call = symbol<CUresult(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
                                 unsigned, unsigned, CUstream, void**, void**)>("cuLaunchKernel");
    CUresult result = CUDA_ERROR_UNKNOWN;
    stderr_of([&] { result = call(function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr); });
    return result;
  }
  const std::string cubin_ = kernels::testing::Cubin{}.bytes();
};

TEST_F(ModuleTest, FunctionsAreFoundByNameAndLaunched) {
  CUmodule module = nullptr;
  ASSERT_OK(load(&module, cubin_.data()));
  auto* get = symbol<GetFunction>("cuModuleGetFunction");
  CUfunction function = nullptr, again = nullptr;
  ASSERT_OK(get(&function, module, "add"));
  ASSERT_OK(get(&again, module, "add"));
  EXPECT_EQ(function, again);
  EXPECT_EQ(get(&again, module, "helper"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(get(&again, module, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(launch(function));
  const char* name = nullptr;
  auto* name_of = symbol<CUresult(const char**, CUfunction)>("cuFuncGetName");
  ASSERT_OK(name_of(&name, function));
  EXPECT_STREQ(name, "add");
  EXPECT_EQ(name_of(&name, nullptr), CUDA_ERROR_INVALID_VALUE);
  unsigned count = 0;
  EXPECT_OK(symbol<CUresult(unsigned*, CUmodule)>("cuModuleGetFunctionCount")(&count, module));
  EXPECT_EQ(count, 1u);
  EXPECT_OK(unload(module));
  EXPECT_EQ(unload(module), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(get(&again, module, "add"), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(name_of(&name, function), CUDA_ERROR_INVALID_HANDLE);
}

// A cubin alone has no code that the emulator runs. Its parameters are known all the same, because
// the checks of memory use them.
TEST_F(ModuleTest, AKernelThatComesAsACubinAloneDoesNothing) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  ASSERT_OK(load(&module, cubin_.data()));
  ASSERT_OK(symbol<GetFunction>("cuModuleGetFunction")(&function, module, "add"));
  const Mapped m = mapped();
  ASSERT_OK(driver()(calls::MemsetD8{m.address, 7, 64}));
  CUdeviceptr to = m.address;
  int count = 16;
  void* parameters[] = {&to, &count};
  CUstream stream = nullptr;
  ASSERT_OK(driver()(calls::StreamCreate{&stream, 0}));
  const auto launch_it = [&] {
    return driver()(
        calls::LaunchKernel{function, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr});
  };
  const auto twice = stderr_of([&] {
    EXPECT_OK(launch_it());
    EXPECT_OK(launch_it());
  });
  EXPECT_EQ(twice.find("skipped"), twice.rfind("skipped")) << "said once at most: " << twice;
  EXPECT_OK(driver()(calls::StreamSynchronize{stream}));
  unsigned char bytes[64];
  ASSERT_OK(driver()(calls::MemcpyDtoH{bytes, m.address, sizeof bytes}));
  for (const unsigned char byte : bytes) EXPECT_EQ(byte, 7);
  // A captured launch makes a node that contains the parameters.
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  std::size_t nodes = 1;
  CUDA_KERNEL_NODE_PARAMS_v2 params_read{};
  ASSERT_OK(driver()(calls::StreamBeginCapture{stream, CU_STREAM_CAPTURE_MODE_RELAXED}));
  EXPECT_OK(launch_it());
  ASSERT_OK(driver()(calls::StreamEndCapture{stream, &graph}));
  auto* all = symbol<CUresult(CUgraph, CUgraphNode*, std::size_t*)>("cuGraphGetNodes");
  ASSERT_OK(all(graph, &node, &nodes));
  auto* tell =
      symbol<CUresult(CUgraphNode, CUDA_KERNEL_NODE_PARAMS_v2*)>("cuGraphKernelNodeGetParams_v2");
  ASSERT_OK(tell(node, &params_read));
  EXPECT_EQ(std::memcmp(params_read.kernelParams[0], &to, sizeof to), 0);
  EXPECT_EQ(std::memcmp(params_read.kernelParams[1], &count, sizeof count), 0);
  EXPECT_OK(symbol<CUresult(CUgraph)>("cuGraphDestroy")(graph));
  EXPECT_OK(driver()(calls::StreamDestroy{stream}));
  end(m);
  EXPECT_OK(unload(module));
}

TEST_F(ModuleTest, VariablesAreMemoryThatBeginsAsTheImageSays) {
  std::size_t free_before = 0, free_after = 0, total = 0;
  ASSERT_OK(driver()(calls::MemGetInfo{&free_before, &total}));
  CUmodule module = nullptr;
  ASSERT_OK(load(&module, cubin_.data()));
  auto* get = symbol<GetGlobal>("cuModuleGetGlobal_v2");
  CUdeviceptr counter = 0, table = 0;
  std::size_t size = 0;
  ASSERT_OK(get(&counter, &size, module, "counter"));
  EXPECT_EQ(size, 4u);
  int value = 0;
  ASSERT_OK(driver()(calls::MemcpyDtoH{&value, counter, sizeof value}));
  EXPECT_EQ(value, 7);
  ASSERT_OK(get(&table, &size, module, "table"));
  EXPECT_EQ(size, 400u);
  EXPECT_OK(driver()(calls::MemcpyHtoD{table, &value, sizeof value}));
  EXPECT_EQ(driver()(calls::MemFree{table}), CUDA_ERROR_INVALID_VALUE) << "it is the module's";
  EXPECT_EQ(driver()(calls::MemFreeAsync{table, nullptr}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get(&table, &size, module, "missing"), CUDA_ERROR_NOT_FOUND);
  EXPECT_OK(get(nullptr, &size, module, "counter"));
  EXPECT_OK(unload(module));
  EXPECT_NE(driver()(calls::MemcpyDtoH{&value, counter, sizeof value}), CUDA_SUCCESS);
  ASSERT_OK(driver()(calls::MemGetInfo{&free_after, &total}));
  EXPECT_EQ(free_after, free_before);
}

TEST_F(ModuleTest, WhatIsNoImageIsRefused) {
  CUmodule module = nullptr;
  EXPECT_EQ(load(&module, "no code at all"), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(load(&module, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(load(nullptr, cubin_.data()), CUDA_ERROR_INVALID_VALUE);
  const std::string newer = kernels::testing::Cubin{.architecture = 100}.bytes();
  EXPECT_EQ(load(&module, newer.data()), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(symbol<CUresult(CUmodule*, const char*)>("cuModuleLoad")(&module, "/nonexistent"),
            CUDA_ERROR_FILE_NOT_FOUND);
}

TEST_F(ModuleTest, LogsOfTheCompilerAreEmpty) {
  auto* load_with = symbol<CUresult(CUmodule*, const void*, unsigned, CUjit_option*, void**)>(
      "cuModuleLoadDataEx");
  char log[64] = "something";
  CUjit_option options[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  CUmodule module = nullptr;
  ASSERT_OK(load_with(&module, kernels::testing::kPtx, 2, options, values));
  EXPECT_STREQ(log, "");
  EXPECT_EQ(values[1], nullptr);
  EXPECT_OK(unload(module));
  EXPECT_EQ(load_with(&module, kernels::testing::kPtx, 2, options, nullptr),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ModuleTest, AContextTakesItsModulesAlong) {
  CUcontext context = nullptr;
  ASSERT_OK(symbol<CUresult(CUcontext*, unsigned, CUdevice)>("cuCtxCreate_v2")(&context, 0, 1));
  CUmodule module = nullptr;
  ASSERT_OK(load(&module, cubin_.data()));
  ASSERT_OK(driver()(calls::CtxDestroy{context}));
  EXPECT_EQ(unload(module), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(ModuleTest, ALibraryIsOfAllContexts) {
  CUlibrary library = nullptr;
  auto* load_library = symbol<CUresult(CUlibrary*, const void*, CUjit_option*, void**, unsigned,
                                       CUlibraryOption*, void**, unsigned)>("cuLibraryLoadData");
  ASSERT_OK(load_library(&library, cubin_.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  CUkernel kernel = nullptr;
  ASSERT_OK(symbol<CUresult(CUkernel*, CUlibrary, const char*)>("cuLibraryGetKernel")(
      &kernel, library, "add"));
  auto* function_of = symbol<CUresult(CUfunction*, CUkernel)>("cuKernelGetFunction");
  auto* variable =
      symbol<CUresult(CUdeviceptr*, std::size_t*, CUlibrary, const char*)>("cuLibraryGetGlobal");
  CUfunction here = nullptr, there = nullptr;
  CUdeviceptr counter_here = 0, counter_there = 0;
  ASSERT_OK(function_of(&here, kernel));
  ASSERT_OK(variable(&counter_here, nullptr, library, "counter"));
  use_device(1);
  ASSERT_OK(function_of(&there, kernel));
  ASSERT_OK(variable(&counter_there, nullptr, library, "counter"));
  EXPECT_NE(here, there);
  EXPECT_NE(counter_here, counter_there);
  // A kernel's handle is accepted in place of its function's.
  const auto as_function = reinterpret_cast<CUfunction>(kernel);
  EXPECT_OK(launch(as_function));
  int registers = 0;
  EXPECT_OK(symbol<FunctionAttribute>("cuFuncGetAttribute")(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS,
                                                            as_function));
  EXPECT_EQ(registers, 24);
  auto* unload_library = symbol<CUresult(CUlibrary)>("cuLibraryUnload");
  EXPECT_OK(unload_library(library));
  EXPECT_EQ(unload_library(library), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(function_of(&there, kernel), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_OK(driver()(calls::DevicePrimaryCtxRelease{1}));
  ASSERT_OK(driver()(calls::CtxSetCurrent{context_}));
}

// An H100's answers: a library is read when it is first used.
TEST_F(ModuleTest, ALibraryWithBadCodeIsRefusedAtItsFirstUse) {
  auto* load_library = symbol<CUresult(CUlibrary*, const void*, CUjit_option*, void**, unsigned,
                                       CUlibraryOption*, void**, unsigned)>("cuLibraryLoadData");
  auto* variable =
      symbol<CUresult(CUdeviceptr*, std::size_t*, CUlibrary, const char*)>("cuLibraryGetGlobal");
  const std::pair<const char*, CUresult> bad[] = {
      {"garbage", CUDA_ERROR_INVALID_IMAGE},
      {".version 99.0\n.target sm_80\n.address_size 64\n", CUDA_ERROR_UNSUPPORTED_PTX_VERSION},
      {".version 8.0\n.target sm_80\n.address_size 64\n.visible oops e()\n",
       CUDA_ERROR_INVALID_PTX}};
  for (const auto& [text, code] : bad) {
    CUlibrary library = nullptr;
    stderr_of([&, image = text] {
      ASSERT_OK(load_library(&library, image, nullptr, nullptr, 0, nullptr, nullptr, 0));
    });
    unsigned count = 9;
    EXPECT_OK(symbol<CUresult(unsigned*, CUlibrary)>("cuLibraryGetKernelCount")(&count, library));
    EXPECT_EQ(count, 0u);
    CUkernel kernel = nullptr;
    EXPECT_EQ(symbol<CUresult(CUkernel*, CUlibrary, const char*)>("cuLibraryGetKernel")(
                  &kernel, library, "e"),
              code);
    EXPECT_EQ(variable(nullptr, nullptr, library, "g"), code);
    EXPECT_EQ(variable(nullptr, nullptr, library, ""), CUDA_ERROR_INVALID_VALUE);
    CUmodule module = nullptr;
    EXPECT_EQ(symbol<CUresult(CUmodule*, CUlibrary)>("cuLibraryGetModule")(&module, library), code);
    EXPECT_OK(symbol<CUresult(CUlibrary)>("cuLibraryUnload")(library));
  }
}

TEST_F(ModuleTest, FunctionsHaveAttributesAndAnOccupancy) {
  CUmodule module = nullptr;
  ASSERT_OK(load(&module, cubin_.data()));
  CUfunction function = nullptr;
  ASSERT_OK(symbol<GetFunction>("cuModuleGetFunction")(&function, module, "add"));
  const auto get = [&](CUfunction_attribute attribute) {
    int value = -7;
    EXPECT_OK(symbol<FunctionAttribute>("cuFuncGetAttribute")(&value, attribute, function));
    return value;
  };
  EXPECT_EQ(get(CU_FUNC_ATTRIBUTE_NUM_REGS), 24);
  EXPECT_EQ(get(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), 256);
  EXPECT_EQ(get(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES), 49152 - 256);
  std::size_t count = 0, offset = 0, size = 0;
  ASSERT_OK(symbol<CUresult(CUfunction, std::size_t*)>("cuFuncGetParamCount")(function, &count));
  EXPECT_EQ(count, 2u);
  auto* parameter =
      symbol<CUresult(CUfunction, std::size_t, std::size_t*, std::size_t*)>("cuFuncGetParamInfo");
  ASSERT_OK(parameter(function, 1, &offset, &size));
  EXPECT_EQ(offset, 8u);
  EXPECT_EQ(size, 4u);
  EXPECT_EQ(parameter(function, 2, &offset, &size), CUDA_ERROR_INVALID_VALUE);
  auto* set = symbol<CUresult(CUfunction, CUfunction_attribute, int)>("cuFuncSetAttribute");
  EXPECT_OK(set(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000));
  EXPECT_EQ(get(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES), 100000);
  EXPECT_EQ(set(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232448),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set(function, CU_FUNC_ATTRIBUTE_NUM_REGS, 1), CUDA_ERROR_INVALID_VALUE);
  int blocks = 0, threads = 0;
  auto* active = symbol<CUresult(int*, CUfunction, int, std::size_t)>(
      "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  ASSERT_OK(active(&blocks, function, 1024, 0));
  EXPECT_EQ(blocks, 2);
  ASSERT_OK(active(&blocks, function, 32, 100000));
  EXPECT_EQ(blocks, 2) << "of 100256 bytes each";
  auto* potential = symbol<CUresult(int*, int*, CUfunction, CUoccupancyB2DSize, std::size_t, int)>(
      "cuOccupancyMaxPotentialBlockSize");
  ASSERT_OK(potential(&blocks, &threads, function, nullptr, 0, 0));
  EXPECT_EQ(threads, 1024);
  EXPECT_EQ(blocks, 2 * 132);
  EXPECT_OK(unload(module));
}

// As an H100 answers, whose driver names the target of the text and the constants of the module.
TEST_F(ModuleTest, AKernelOfATextHasTheTextsTargetAndConstants) {
  CUmodule module = nullptr;
  ASSERT_OK(load(&module,
                 ".version 8.0\n.target sm_75\n.address_size 64\n"
                 ".const .align 4 .u32 table[8];\n.const .f32 one;\n"
                 ".extern .global .u32 elsewhere;\n"
                 ".visible .entry e() { .shared .b8 x[60000]; .reg .b32 %r;\n"
                 "  ld.global.u32 %r, [elsewhere]; st.global.u32 [elsewhere], %r; ret; }\n"
                 ".visible .entry exact() .reqntid 64, 2, 1 { ret; }\n"));
  CUfunction function = nullptr, exact = nullptr;
  ASSERT_OK(symbol<GetFunction>("cuModuleGetFunction")(&function, module, "e"));
  ASSERT_OK(symbol<GetFunction>("cuModuleGetFunction")(&exact, module, "exact"));
  auto* get = symbol<FunctionAttribute>("cuFuncGetAttribute");
  int value = 0;
  ASSERT_OK(get(&value, CU_FUNC_ATTRIBUTE_PTX_VERSION, function));
  EXPECT_EQ(value, 75);
  ASSERT_OK(get(&value, CU_FUNC_ATTRIBUTE_BINARY_VERSION, function));
  EXPECT_EQ(value, 90);
  ASSERT_OK(get(&value, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, function));
  EXPECT_EQ(value, 36);
  EXPECT_OK(launch(function))
      << "static shared memory may pass 48 KiB, and a variable that no text defines holds zeros";
  int blocks = 0, threads = 0;
  auto* potential = symbol<CUresult(int*, int*, CUfunction, CUoccupancyB2DSize, std::size_t, int)>(
      "cuOccupancyMaxPotentialBlockSize");
  ASSERT_OK(potential(&blocks, &threads, exact, nullptr, 4096, 600));
  EXPECT_EQ(threads, 512) << ".reqntid is no limit of this call";
  EXPECT_OK(unload(module));
}

TEST_F(ModuleTest, OccupancyFollowsWhatIsSetForAKernel) {
  CUmodule module = nullptr;
  ASSERT_OK(load(&module, cubin_.data()));
  CUfunction function = nullptr;
  ASSERT_OK(symbol<GetFunction>("cuModuleGetFunction")(&function, module, "add"));
  auto* active = symbol<CUresult(int*, CUfunction, int, std::size_t, unsigned)>(
      "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags");
  auto* set = symbol<CUresult(CUfunction, CUfunction_attribute, int)>("cuFuncSetAttribute");
  int blocks = -1;
  ASSERT_OK(active(&blocks, function, 32, 100000, 1));
  EXPECT_EQ(blocks, 0) << "more than 48 KiB are not allowed yet";
  EXPECT_EQ(active(&blocks, function, 32, 0, 2), CUDA_ERROR_INVALID_VALUE);
  ASSERT_OK(set(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 0));
  int value = -1;
  ASSERT_OK(symbol<FunctionAttribute>("cuFuncGetAttribute")(
      &value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function));
  EXPECT_EQ(value, 0);
  EXPECT_EQ(set(function, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, 1), CUDA_ERROR_INVALID_VALUE);
  std::size_t bytes = 0;
  auto* available = symbol<CUresult(std::size_t*, CUfunction, int, int)>(
      "cuOccupancyAvailableDynamicSMemPerBlock");
  ASSERT_OK(available(&bytes, function, 32, 1));
  EXPECT_EQ(bytes, 7296u - 256);
  EXPECT_EQ(available(&bytes, function, 33, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(available(&bytes, function, 0, 1), CUDA_ERROR_INVALID_VALUE);
  CUlaunchConfig config{};
  config.gridDimX = 16;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.blockDimX = 1024;
  auto* cluster = symbol<CUresult(int*, CUfunction, const CUlaunchConfig*)>(
      "cuOccupancyMaxPotentialClusterSize");
  ASSERT_OK(cluster(&blocks, function, &config));
  EXPECT_EQ(blocks, 8);
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attribute.value.clusterDim.x = 2;
  attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  auto* clusters =
      symbol<CUresult(int*, CUfunction, const CUlaunchConfig*)>("cuOccupancyMaxActiveClusters");
  ASSERT_OK(clusters(&blocks, function, &config));
  EXPECT_EQ(blocks, 132) << "two blocks of 1024 threads on each multiprocessor";
  attribute.value.clusterDim.x = 3;
  EXPECT_EQ(clusters(&blocks, function, &config), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  config.blockDimX = 0;
  EXPECT_EQ(clusters(&blocks, function, &config), CUDA_ERROR_INVALID_VALUE);
  CUfunctionLoadingState state{};
  ASSERT_OK(
      symbol<CUresult(CUfunctionLoadingState*, CUfunction)>("cuFuncIsLoaded")(&state, function));
  EXPECT_EQ(state, CU_FUNCTION_LOADING_STATE_LOADED);
  auto* cache = symbol<CUresult(CUfunction, int)>("cuFuncSetCacheConfig");
  EXPECT_OK(cache(function, CU_FUNC_CACHE_PREFER_EQUAL));
  EXPECT_EQ(cache(function, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(unload(module));
}

}  // namespace
}  // namespace cuvmm::emulator::testing
