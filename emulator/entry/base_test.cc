// SPDX-License-Identifier: Apache-2.0
// Devices, contexts, streams, events, plain and page-locked memory, error names.
#include <cstring>

#include "emulator/testing.h"

namespace cuvmm::emulator::testing {
namespace {

class Base : public EmulatorTest {};

TEST_F(Base, DevicesHaveNamesIdentitiesAndPeers) {
  int count = 0;
  ASSERT_OK(driver()(calls::DeviceGetCount{&count}));
  ASSERT_EQ(count, 8);
  char name[64], small[4];
  ASSERT_OK(driver()(calls::DeviceGetName{name, sizeof name, 0}));
  EXPECT_STREQ(name, "NVIDIA H200");
  ASSERT_OK(driver()(calls::DeviceGetName{small, sizeof small, 0}));
  EXPECT_STREQ(small, "NVI");
  CUuuid a, b;
  auto* uuid = symbol<CUresult(CUuuid*, CUdevice)>("cuDeviceGetUuid_v2");
  ASSERT_OK(uuid(&a, 0));
  ASSERT_OK(uuid(&b, 1));
  EXPECT_NE(std::memcmp(&a, &b, sizeof a), 0);
  int peers = 7;
  ASSERT_OK(driver()(calls::DeviceCanAccessPeer{&peers, 0, 1}));
  EXPECT_EQ(peers, 1);
  ASSERT_OK(driver()(calls::DeviceCanAccessPeer{&peers, 1, 1}));
  EXPECT_EQ(peers, 0);
  EXPECT_EQ(driver()(calls::DeviceCanAccessPeer{&peers, 0, 8}), CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(Base, ADeviceIsFoundByItsBus) {
  char bus[16];
  auto* get = symbol<CUresult(char*, int, CUdevice)>("cuDeviceGetPCIBusId");
  auto* find = symbol<CUresult(CUdevice*, const char*)>("cuDeviceGetByPCIBusId");
  for (CUdevice device = 0; device < 8; ++device) {
    ASSERT_OK(get(bus, sizeof bus, device));
    CUdevice found = -1;
    ASSERT_OK(find(&found, bus)) << bus;
    EXPECT_EQ(found, device);
  }
  CUdevice found = -1;
  EXPECT_EQ(find(&found, "0000:FF:00.0"), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(find(&found, "bus"), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Base, AttributesComeFromTheProfileElseFromTheGeneration) {
  const auto attribute = [](int number) {
    int value = -1;
    EXPECT_OK(
        driver()(calls::DeviceGetAttribute{&value, static_cast<CUdevice_attribute>(number), 0}));
    return value;
  };
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED), 1);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE), 32);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY), 1);
  EXPECT_EQ(attribute(142), 1) << "pools on a NUMA node";
  EXPECT_EQ(attribute(144), 1) << "pools on the host";
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD), 0);
  int value = -1;
  EXPECT_EQ(driver()(calls::DeviceGetAttribute{&value, static_cast<CUdevice_attribute>(9999), 0}),
            CUDA_ERROR_INVALID_VALUE);
}

// As CUDA 13's samples and UCX create their contexts.
TEST_F(Base, ParametersThatAskForNothingMakeAPlainContext) {
  struct Parameters {  // CUctxCreateParams, which CUDA 12.4's header lacks
    void* affinity;
    int affinities;
    void* graphics;
  } parameters{};
  auto* create =
      symbol<CUresult(CUcontext*, const Parameters*, unsigned, CUdevice)>("cuCtxCreate_v4");
  auto* destroy = symbol<CUresult(CUcontext)>("cuCtxDestroy_v2");
  CUcontext context = nullptr, current = nullptr;
  ASSERT_OK(create(&context, &parameters, CU_CTX_SCHED_SPIN, 1));
  ASSERT_OK(driver()(calls::CtxGetCurrent{&current}));
  EXPECT_EQ(current, context);
  CUdevice device = -1;
  ASSERT_OK(driver()(calls::CtxGetDevice{&device}));
  EXPECT_EQ(device, 1);
  EXPECT_OK(destroy(context));
  ASSERT_OK(create(&context, nullptr, 0, 0));
  EXPECT_OK(destroy(context));
  EXPECT_EQ(create(&context, &parameters, ~0u, 0), CUDA_ERROR_INVALID_VALUE);
  parameters.affinities = 1;
  EXPECT_EQ(create(&context, &parameters, 0, 0), CUDA_ERROR_NOT_SUPPORTED);
  parameters = {.affinity = nullptr, .affinities = 0, .graphics = &parameters};
  EXPECT_EQ(create(&context, &parameters, 0, 0), CUDA_ERROR_NOT_SUPPORTED);
}

// runtime/testing/launch_test.py checks the messages and the counts.
TEST_F(Base, LaunchesAreSkippedAndWhatADriverRefusesIsRefused) {
  auto* launch = symbol<CUresult(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
                                 unsigned, unsigned, CUstream, void**, void**)>("cuLaunchKernel");
  const auto kernel = reinterpret_cast<CUfunction>(this);
  EXPECT_OK(launch(kernel, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr));
  EXPECT_EQ(launch(nullptr, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(launch(kernel, 0, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(kernel, 1, 1, 1, 2048, 1, 1, 0, nullptr, nullptr, nullptr),
            CUDA_ERROR_INVALID_VALUE)
      << "threads of a block";
  EXPECT_EQ(launch(kernel, 1, 65536, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(launch(kernel, 65536, 1, 1, 1024, 1, 1, 0, nullptr, nullptr, nullptr));
  EXPECT_OK(symbol<CUresult()>("cuProfilerStart")());
  EXPECT_OK(symbol<CUresult()>("cuProfilerStop")());
}

TEST_F(Base, CallbacksOfStreamsAreCalled) {
  auto* add = symbol<CUresult(CUstream, CUstreamCallback, void*, unsigned)>("cuStreamAddCallback");
  int called = 0;
  const CUstreamCallback count = [](CUstream, CUresult result, void* data) {
    *static_cast<int*>(data) += result == CUDA_SUCCESS;
  };
  EXPECT_OK(add(nullptr, count, &called, 0));
  EXPECT_OK(driver()(calls::CtxSynchronize{}));
  EXPECT_EQ(called, 1);
  EXPECT_EQ(add(nullptr, nullptr, &called, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add(nullptr, count, &called, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(called, 1);
}

TEST_F(Base, ContextsStack) {
  CUcontext made = nullptr, current = nullptr;
  auto* create = symbol<CUresult(CUcontext*, unsigned, CUdevice)>("cuCtxCreate_v2");
  auto* destroy = symbol<CUresult(CUcontext)>("cuCtxDestroy_v2");
  ASSERT_OK(create(&made, 0, 2));
  ASSERT_OK(driver()(calls::CtxGetCurrent{&current}));
  EXPECT_EQ(current, made);
  CUdevice device = -1;
  ASSERT_OK(driver()(calls::CtxGetDevice{&device}));
  EXPECT_EQ(device, 2);
  CUdeviceptr memory = 0;
  ASSERT_OK(driver()(calls::MemAlloc{&memory, 100}));
  ASSERT_OK(destroy(made));
  EXPECT_EQ(driver()(calls::MemFree{memory}), CUDA_ERROR_INVALID_VALUE) << "it went along";
  ASSERT_OK(driver()(calls::CtxGetCurrent{&current}));
  EXPECT_EQ(current, context_);
  EXPECT_EQ(driver()(calls::CtxSetCurrent{made}), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(destroy(made), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(destroy(context_), CUDA_ERROR_INVALID_CONTEXT) << "primary contexts are released";
}

TEST_F(Base, PrimaryContextsCount) {
  auto* state = symbol<CUresult(CUdevice, unsigned*, int*)>("cuDevicePrimaryCtxGetState");
  unsigned flags = 9;
  int active = 9;
  ASSERT_OK(state(5, &flags, &active));
  EXPECT_EQ(active, 0);
  EXPECT_EQ(driver()(calls::DevicePrimaryCtxRelease{5}), CUDA_ERROR_INVALID_CONTEXT);
  CUcontext one = nullptr, two = nullptr;
  ASSERT_OK(driver()(calls::DevicePrimaryCtxRetain{&one, 5}));
  ASSERT_OK(driver()(calls::DevicePrimaryCtxRetain{&two, 5}));
  EXPECT_EQ(one, two);
  EXPECT_OK(driver()(calls::DevicePrimaryCtxRelease{5}));
  ASSERT_OK(state(5, &flags, &active));
  EXPECT_EQ(active, 1);
  EXPECT_OK(driver()(calls::DevicePrimaryCtxRelease{5}));
  ASSERT_OK(state(5, &flags, &active));
  EXPECT_EQ(active, 0);
}

TEST_F(Base, StreamsAndEventsCompleteAtOnce) {
  CUstream stream = nullptr;
  CUevent start = nullptr, stop = nullptr;
  auto* create = symbol<CUresult(CUstream*, unsigned, int)>("cuStreamCreateWithPriority");
  auto* priority = symbol<CUresult(CUstream, int*)>("cuStreamGetPriority");
  auto* create_event = symbol<CUresult(CUevent*, unsigned)>("cuEventCreate");
  auto* record = symbol<CUresult(CUevent, CUstream)>("cuEventRecord");
  auto* wait = symbol<CUresult(CUstream, CUevent, unsigned)>("cuStreamWaitEvent");
  auto* elapsed = symbol<CUresult(float*, CUevent, CUevent)>("cuEventElapsedTime");
  auto* query = symbol<CUresult(CUstream)>("cuStreamQuery");
  auto* destroy = symbol<CUresult(CUstream)>("cuStreamDestroy_v2");
  ASSERT_OK(create(&stream, CU_STREAM_NON_BLOCKING, -100));
  int value = 0;
  ASSERT_OK(priority(stream, &value));
  EXPECT_EQ(value, -5) << "clamped";
  CUcontext context = nullptr;
  ASSERT_OK(driver()(calls::StreamGetCtx{stream, &context}));
  EXPECT_EQ(context, context_);
  ASSERT_OK(create_event(&start, 0));
  ASSERT_OK(create_event(&stop, 0));
  float time = -1;
  EXPECT_EQ(elapsed(&time, start, stop), CUDA_ERROR_INVALID_HANDLE) << "not recorded";
  EXPECT_OK(record(start, stream));
  EXPECT_OK(wait(nullptr, start, 0));
  EXPECT_OK(record(stop, nullptr));
  EXPECT_OK(elapsed(&time, start, stop));
  EXPECT_GE(time, 0);
  EXPECT_OK(query(stream));
  EXPECT_OK(query(CU_STREAM_PER_THREAD));
  EXPECT_OK(destroy(stream));
  EXPECT_EQ(query(stream), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Base, PlainMemoryComesAndGoes) {
  std::size_t before = 0, after = 0, total = 0;
  ASSERT_OK(driver()(calls::MemGetInfo{&before, &total}));
  CUdeviceptr memory = 0, base = 0;
  ASSERT_OK(driver()(calls::MemAlloc{&memory, 1000}));
  ASSERT_OK(driver()(calls::MemGetInfo{&after, &total}));
  EXPECT_EQ(before - after, 1024u);
  std::size_t size = 0;
  ASSERT_OK(driver()(calls::MemGetAddressRange{&base, &size, memory + 999}));
  EXPECT_EQ(base, memory);
  EXPECT_EQ(size, 1000u);
  EXPECT_EQ(driver()(calls::MemGetAddressRange{&base, &size, memory + 1000}), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(driver()(calls::MemFree{memory + 1}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(driver()(calls::MemFree{memory}));
  EXPECT_EQ(driver()(calls::MemFree{memory}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(driver()(calls::MemFree{0}));
  ASSERT_OK(driver()(calls::MemGetInfo{&after, &total}));
  EXPECT_EQ(before, after);
}

TEST_F(Base, PitchedRowsAreAligned) {
  auto* allocate = symbol<CUresult(CUdeviceptr*, std::size_t*, std::size_t, std::size_t, unsigned)>(
      "cuMemAllocPitch_v2");
  CUdeviceptr memory = 0;
  std::size_t pitch = 0;
  ASSERT_OK(allocate(&memory, &pitch, 100, 3, 4));
  EXPECT_EQ(pitch, 512u);
  EXPECT_OK(driver()(calls::MemsetD8{memory, 1, 3 * 512}));
  EXPECT_OK(driver()(calls::MemFree{memory}));
  EXPECT_EQ(allocate(&memory, &pitch, 100, 3, 5), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Base, ErrorNames) {
  const char* text = nullptr;
  ASSERT_OK(driver()(calls::GetErrorName{CUDA_ERROR_INVALID_VALUE, &text}));
  EXPECT_STREQ(text, "CUDA_ERROR_INVALID_VALUE");
  const char* again = nullptr;
  ASSERT_OK(driver()(calls::GetErrorName{CUDA_ERROR_INVALID_VALUE, &again}));
  EXPECT_EQ(text, again) << "callers may keep it";
  const auto words = [](CUresult code) -> std::string {
    const char* sentence = nullptr;
    EXPECT_OK(driver()(calls::GetErrorString{code, &sentence})) << code;
    return sentence ? sentence : "";
  };
  EXPECT_EQ(words(CUDA_SUCCESS), "no error");
  EXPECT_EQ(words(CUDA_ERROR_INVALID_VALUE), "invalid argument");
  EXPECT_EQ(words(CUDA_ERROR_OUT_OF_MEMORY), "out of memory");
  EXPECT_EQ(words(CUDA_ERROR_NOT_SUPPORTED), "operation not supported");
  EXPECT_EQ(words(CUDA_ERROR_ALREADY_ACQUIRED), "resource already acquired");
  EXPECT_EQ(words(CUDA_ERROR_MPS_RPC_FAILURE), "mps rpc failure") << "else those of the name";
  EXPECT_EQ(driver()(calls::GetErrorName{static_cast<CUresult>(12345), &text}),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(text, nullptr);
}

}  // namespace
}  // namespace cuvmm::emulator::testing
