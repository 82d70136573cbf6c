// SPDX-License-Identifier: Apache-2.0
// Each call of the runtime library becomes a call of the driver with equal arguments, in a context.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "emulator/runtime/abi.h"
#include "emulator/runtime/error.h"
#include "emulator/runtime/testing/recording_driver.h"

namespace cuvmm::runtime {
namespace {

// Both libraries find the recording driver by its name, because it is loaded already.
Recorded& recorded() {
  static Recorded* record = [] {
    void* library = dlopen(CUVMM_RECORDING_DRIVER, RTLD_NOW);
    EXPECT_NE(library, nullptr) << dlerror();
    return reinterpret_cast<Recorded* (*)()>(dlsym(library, "recorded_calls"))();
  }();
  return *record;
}

class RuntimeForwarding : public ::testing::TestWithParam<const char*> {
 protected:
  static int major() { return GetParam() == std::string(CUVMM_RUNTIME_12_PATH) ? 12 : 13; }

  template <class Function, class... Args>
  auto call(const char* name, Args... args) {
    auto* function = reinterpret_cast<Function*>(dlsym(library_, name));
    EXPECT_NE(function, nullptr) << name;
    return function(args...);
  }

  void SetUp() override {
    recorded();
    library_ = dlopen(GetParam(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << dlerror();
    recorded() = {};
    call<Error()>("cudaDeviceReset");
    call<Error()>("cudaGetLastError");
    recorded().calls.clear();
  }

  /// The last call of the driver; the calls that make a context come before it.
  static std::string last() { return recorded().calls.empty() ? "" : recorded().calls.back(); }

 private:
  void* library_ = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Both, RuntimeForwarding,
                         ::testing::Values(CUVMM_RUNTIME_12_PATH, CUVMM_RUNTIME_13_PATH),
                         [](const auto& path) {
                           return std::string("cudart") + std::strrchr(path.param, '.')[1] +
                                  std::strrchr(path.param, '.')[2];
                         });

// CUDA 12's descriptor ends where CUDA 13's has reserved words: a CUDA 12 library does not read the
// bytes after it.
TEST_P(RuntimeForwarding, ImportCopiesTheDescriptorAndNothingBehindIt) {
  struct {
    ExternalMemoryHandle desc;
    unsigned char behind[128];
  } given;
  std::memset(static_cast<void*>(&given), 0xff, sizeof given);
  given.desc.object.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
  given.desc.object.handle.fd = 42;
  given.desc.size = 3 << 20;
  given.desc.flags = 1;
  CUexternalMemory memory = nullptr;
  EXPECT_EQ(call<Error(CUexternalMemory*, const void*)>("cudaImportExternalMemory", &memory,
                                                        static_cast<const void*>(&given.desc)),
            cudaSuccess);
  EXPECT_EQ(last(), "cuImportExternalMemory");
  EXPECT_NE(memory, nullptr);
  EXPECT_EQ(recorded().memory.type, CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD);
  EXPECT_EQ(recorded().memory.handle.fd, 42);
  EXPECT_EQ(recorded().memory.size, 3u << 20);
  EXPECT_EQ(recorded().memory.flags, 1u);
  for (const unsigned word : recorded().memory.reserved) EXPECT_EQ(word, major() == 12 ? 0 : ~0u);
}

TEST_P(RuntimeForwarding, MappedBuffer) {
  const struct {
    ExternalBuffer desc;
    unsigned reserved[16];
  } given{{4096, 8192, 3}, {}};
  const auto memory = reinterpret_cast<CUexternalMemory>(0x77);
  void* pointer = nullptr;
  EXPECT_EQ((call<Error(void**, CUexternalMemory, const ExternalBuffer*)>(
                "cudaExternalMemoryGetMappedBuffer", &pointer, memory, &given.desc)),
            cudaSuccess);
  EXPECT_EQ(last(), "cuExternalMemoryGetMappedBuffer");
  EXPECT_EQ(reinterpret_cast<CUdeviceptr>(pointer), kRecordedPointer);
  EXPECT_EQ(recorded().object, memory);
  EXPECT_EQ(recorded().buffer.offset, 4096u);
  EXPECT_EQ(recorded().buffer.size, 8192u);
  EXPECT_EQ(recorded().buffer.flags, 3u);
}

TEST_P(RuntimeForwarding, MappedArrayInTheDriversFormat) {
  struct {
    ExternalArray desc;
    unsigned reserved[16];
  } given{{64, {{32, 32, 0, 0}, 2}, {16, 8, 0}, 2, 3}, {}};
  ExternalArray& desc = given.desc;
  CUmipmappedArray array = nullptr;
  const auto map = [&] {
    return call<Error(CUmipmappedArray*, CUexternalMemory, const ExternalArray*)>(
        "cudaExternalMemoryGetMappedMipmappedArray", &array, reinterpret_cast<CUexternalMemory>(9),
        &desc);
  };
  EXPECT_EQ(map(), cudaSuccess);
  EXPECT_EQ(last(), "cuExternalMemoryGetMappedMipmappedArray");
  EXPECT_EQ(recorded().array.offset, 64u);
  EXPECT_EQ(recorded().array.arrayDesc.Format, CU_AD_FORMAT_FLOAT);
  EXPECT_EQ(recorded().array.arrayDesc.NumChannels, 2u);
  EXPECT_EQ(recorded().array.arrayDesc.Width, 16u);
  EXPECT_EQ(recorded().array.arrayDesc.Height, 8u);
  EXPECT_EQ(recorded().array.arrayDesc.Flags, 2u);
  EXPECT_EQ(recorded().array.numLevels, 3u);

  recorded().calls.clear();
  desc.format.bits[2] = 32;  // three channels
  EXPECT_EQ(map(), cudaErrorInvalidChannelDescriptor);
  desc.format = {{8, 16, 0, 0}, 0};
  EXPECT_EQ(map(), cudaErrorInvalidChannelDescriptor);
  EXPECT_EQ(last(), "");
}

TEST_P(RuntimeForwarding, DestroyAndSemaphores) {
  EXPECT_EQ(call<Error(void*)>("cudaDestroyExternalMemory", reinterpret_cast<void*>(0x78)),
            cudaSuccess);
  EXPECT_EQ(last(), "cuDestroyExternalMemory");
  EXPECT_EQ(recorded().object, reinterpret_cast<void*>(0x78));
  struct {
    ExternalSemaphoreHandle desc;
    unsigned reserved[16];
  } given{};
  ExternalSemaphoreHandle& desc = given.desc;
  desc.object.type = 9;
  desc.object.handle.fd = 5;
  desc.flags = 7;
  CUexternalSemaphore semaphore = nullptr;
  EXPECT_EQ((call<Error(CUexternalSemaphore*, const ExternalSemaphoreHandle*)>(
                "cudaImportExternalSemaphore", &semaphore, &desc)),
            cudaSuccess);
  EXPECT_EQ(recorded().semaphore.type, 9);
  EXPECT_EQ(recorded().semaphore.handle.fd, 5);
  EXPECT_EQ(recorded().semaphore.flags, 7u);
}

TEST_P(RuntimeForwarding, BatchesGoInTheAbiOfTheirTime) {
  void* to[] = {reinterpret_cast<void*>(0x1234)};
  void* from[] = {nullptr};
  std::size_t size = 8, first = 0, failed = 0;
  if (major() == 12) {
    EXPECT_EQ(
        (call<Error(void**, void**, std::size_t*, std::size_t, void*, std::size_t*, std::size_t,
                    std::size_t*, void*)>("cudaMemcpyBatchAsync", to, from, &size, std::size_t{1},
                                          nullptr, &first, std::size_t{1}, &failed, nullptr)),
        cudaSuccess);
    EXPECT_EQ(last(), "cuMemcpyBatchAsync of 12.8");
    EXPECT_EQ(failed, 3u);
  } else {
    EXPECT_EQ(
        (call<Error(void**, void**, std::size_t*, std::size_t, void*, std::size_t*, std::size_t,
                    void*)>("cudaMemcpyBatchAsync", to, from, &size, std::size_t{1}, nullptr,
                            &first, std::size_t{1}, nullptr)),
        cudaSuccess);
    EXPECT_EQ(last(), "cuMemcpyBatchAsync of 13.0");
  }
  EXPECT_EQ(recorded().pointer, 0x1234u);
}

TEST_P(RuntimeForwarding, IpcHandlesGoByValue) {
  CUipcMemHandle handle{};
  for (std::size_t i = 0; i < sizeof handle; ++i) handle.reserved[i] = static_cast<char>(i + 1);
  void* pointer = nullptr;
  EXPECT_EQ(
      (call<Error(void**, CUipcMemHandle, unsigned)>("cudaIpcOpenMemHandle", &pointer, handle, 1u)),
      cudaSuccess);
  EXPECT_EQ(last(), "cuIpcOpenMemHandle");
  EXPECT_EQ(std::memcmp(&recorded().ipc_memory, &handle, sizeof handle), 0);
  EXPECT_EQ(recorded().flags, 1u);
  EXPECT_EQ(reinterpret_cast<CUdeviceptr>(pointer), kRecordedPointer);

  CUipcMemHandle got{};
  EXPECT_EQ((call<Error(CUipcMemHandle*, void*)>("cudaIpcGetMemHandle", &got, pointer)),
            cudaSuccess);
  EXPECT_EQ(last(), "cuIpcGetMemHandle");
  EXPECT_EQ(recorded().pointer, kRecordedPointer);
  EXPECT_EQ(std::memcmp(&got, &handle, sizeof handle), 0);
  EXPECT_EQ(call<Error(void*)>("cudaIpcCloseMemHandle", pointer), cudaSuccess);
  EXPECT_EQ(last(), "cuIpcCloseMemHandle");

  CUipcEventHandle event_handle{};
  event_handle.reserved[63] = 9;
  CUevent event = nullptr;
  EXPECT_EQ(
      (call<Error(CUevent*, CUipcEventHandle)>("cudaIpcOpenEventHandle", &event, event_handle)),
      cudaSuccess);
  EXPECT_EQ(last(), "cuIpcOpenEventHandle");
  EXPECT_EQ(recorded().ipc_event.reserved[63], 9);
  EXPECT_EQ(
      (call<Error(CUipcEventHandle*, CUevent)>("cudaIpcGetEventHandle", &event_handle, event)),
      cudaSuccess);
  EXPECT_EQ(last(), "cuIpcGetEventHandle");
  EXPECT_EQ(recorded().object, event);
}

TEST_P(RuntimeForwarding, ErrorsHaveTheRuntimesNames) {
  const struct {
    CUresult driver;
    Error runtime;
    const char* name;
  } kCases[] = {
      {CUDA_ERROR_INVALID_VALUE, cudaErrorInvalidValue, "cudaErrorInvalidValue"},
      {CUDA_ERROR_INVALID_HANDLE, cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle"},
      {CUDA_ERROR_MAP_FAILED, cudaErrorMapBufferObjectFailed, "cudaErrorMapBufferObjectFailed"},
      {CUDA_ERROR_INVALID_CONTEXT, cudaErrorDeviceUninitialized, "cudaErrorDeviceUninitialized"},
      {CUDA_ERROR_OUT_OF_MEMORY, cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation"},
      {CUDA_ERROR_CONTEXT_ALREADY_CURRENT, cudaErrorUnknown, "cudaErrorUnknown"},
      {static_cast<CUresult>(12345), cudaErrorUnknown, "cudaErrorUnknown"},
  };
  for (const auto& known : kCases) {
    recorded().answer = known.driver;
    EXPECT_EQ(call<Error(void*)>("cudaIpcCloseMemHandle", nullptr), known.runtime);
    EXPECT_STREQ(call<const char*(int)>("cudaGetErrorName", known.runtime), known.name);
    EXPECT_EQ(call<Error()>("cudaPeekAtLastError"), known.runtime);
    EXPECT_EQ(call<Error()>("cudaGetLastError"), known.runtime);
    EXPECT_EQ(call<Error()>("cudaGetLastError"), cudaSuccess);
  }
}

TEST_P(RuntimeForwarding, NamesWithPtszMeanTheThreadsOwnStream) {
  EXPECT_EQ(call<Error(CUstream)>("cudaStreamQuery", nullptr), cudaSuccess);
  EXPECT_EQ(last(), "cuStreamQuery");
  EXPECT_EQ(call<Error(CUstream)>("cudaStreamQuery_ptsz", nullptr), cudaSuccess);
  EXPECT_EQ(last(), "cuStreamQuery_ptsz");
}

TEST_P(RuntimeForwarding, EntryPointsAreAskedForByVersionAndStream) {
  void* function = nullptr;
  int status = -1;
  using Find = Error(const char*, void**, unsigned long long, int*);
  EXPECT_EQ(call<Find>("cudaGetDriverEntryPoint", "cuStreamQuery", &function, 0ull, &status),
            cudaSuccess);
  EXPECT_NE(function, nullptr);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(recorded().asked_flags, CU_GET_PROC_ADDRESS_LEGACY_STREAM);
  int version = 0;
  EXPECT_EQ(call<Error(int*)>("cudaRuntimeGetVersion", &version), cudaSuccess);
  EXPECT_EQ(recorded().asked_version, version);
  EXPECT_EQ(call<Find>("cudaGetDriverEntryPoint_ptsz", "cuStreamQuery", &function, 0ull, &status),
            cudaSuccess);
  EXPECT_EQ(recorded().asked_flags, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);

  using FindByVersion = Error(const char*, void**, unsigned, unsigned long long, int*);
  EXPECT_EQ(call<FindByVersion>("cudaGetDriverEntryPointByVersion_ptsz", "cuIpcOpenMemHandle",
                                &function, 4010u, 1ull, &status),
            cudaSuccess);
  EXPECT_EQ(recorded().asked_version, 4010);
  EXPECT_EQ(recorded().asked_flags, CU_GET_PROC_ADDRESS_LEGACY_STREAM);
  EXPECT_EQ(function, nullptr);
  EXPECT_EQ(status, 1);
}

TEST_P(RuntimeForwarding, ADriverWithoutTheFunctionIsNotSupported) {
  EXPECT_EQ(call<Error(void*)>("cudaDestroyExternalSemaphore", nullptr), cudaErrorNotSupported);
}

TEST_P(RuntimeForwarding, TheFirstCallThatNeedsAContextMakesIt) {
  int count = 0;
  EXPECT_EQ(call<Error(int*)>("cudaGetDeviceCount", &count), cudaSuccess);
  EXPECT_EQ(recorded().current, nullptr);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(call<Error(void*)>("cudaFree", nullptr), cudaSuccess);
    EXPECT_NE(recorded().current, nullptr);
  }
  EXPECT_EQ(recorded().calls, std::vector<std::string>{"cuDevicePrimaryCtxRetain"});
}

TEST_P(RuntimeForwarding, AContextOfTheProgramsIsLeftAlone) {
  const auto own = reinterpret_cast<CUcontext>(0xc1);
  recorded().current = own;
  EXPECT_EQ(call<Error(void*)>("cudaIpcCloseMemHandle", nullptr), cudaSuccess);
  EXPECT_EQ(recorded().current, own);
  EXPECT_EQ(recorded().calls, std::vector<std::string>{"cuIpcCloseMemHandle"});
}

}  // namespace
}  // namespace cuvmm::runtime
