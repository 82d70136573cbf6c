// SPDX-License-Identifier: Apache-2.0
// Plain memory in a session: the facts that the model has of it, and the findings that these facts
// allow when a driver that knows more refuses or accepts a call.
#include <gmock/gmock.h>

#include "shim/session/mocked_session.h"

namespace cuvmm::shim {
namespace {

using testing::_;
using testing::DoAll;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Return;
using testing::SetArgPointee;

constexpr CUdeviceptr kPlain = 0x710000000000;
constexpr std::size_t kSize = 1 << 20;
const auto kContext = reinterpret_cast<CUcontext>(std::uintptr_t{0x10});
const auto kStream = reinterpret_cast<CUstream>(std::uintptr_t{0x5000});
void* const kHost = reinterpret_cast<void*>(std::uintptr_t{0x7f0000000000});

/// A context is current on device 0; allocations lie at kPlain; the driver accepts every call.
class MemorySession : public MockedSession {
 protected:
  MemorySession() : MockedSession({}) {
    ON_CALL(mock_, DeviceGetCount(_)).WillByDefault(answers(2));
    ON_CALL(mock_, CtxGetCurrent(_)).WillByDefault(answers(kContext));
    ON_CALL(mock_, CtxGetDevice(_)).WillByDefault(answers(0));
    ON_CALL(mock_, MemAlloc(_, _)).WillByDefault(answers(kPlain));
    ON_CALL(mock_, MemAllocAsync(_, _, _)).WillByDefault(answers(kPlain));
    ON_CALL(mock_, MemAllocHost(_, _)).WillByDefault(answers(kHost));
  }

  void allocate() {
    CUdeviceptr out = 0;
    EXPECT_OK(run(calls::MemAlloc{&out, kSize}));
  }
  void free_answers(CUresult result) { ON_CALL(mock_, MemFree(_)).WillByDefault(Return(result)); }
  const Violation& only_finding() {
    EXPECT_EQ(findings_.all.size(), 1u);
    return findings_.all.at(0).violation;
  }
};

TEST_F(MemorySession, ADoubleFreeNamesWhoAllocatedAndWhoFreed) {
  allocate();                              // call 1
  EXPECT_OK(run(calls::MemFree{kPlain}));  // call 2
  free_answers(CUDA_ERROR_INVALID_VALUE);
  run(calls::MemFree{kPlain});
  const Violation& found = only_finding();
  EXPECT_EQ(found.rule, Rule::kFreeOnce);
  ASSERT_EQ(found.objects.size(), 1u);
  EXPECT_EQ(found.objects[0].made.call, 1u);
  EXPECT_EQ(found.objects[0].ended.call, 2u);
  EXPECT_NE(found.objects[0].made.stack, 0u);
  EXPECT_NE(found.objects[0].ended.stack, 0u);
}

// Something that the session does not see, a graph for example, has the address now.
TEST_F(MemorySession, AnAddressThatIsTakenAgainUnseenMayBeFreed) {
  allocate();
  EXPECT_OK(run(calls::MemFree{kPlain}));
  EXPECT_OK(run(calls::MemFree{kPlain}));
  EXPECT_THAT(findings_.rules(), IsEmpty());
}

TEST_F(MemorySession, AnInteriorPointerIsNamedOnceItIsRefused) {
  allocate();
  EXPECT_OK(run(calls::MemFree{kPlain + 512})) << "memory of another, all the same";
  EXPECT_THAT(findings_.rules(), IsEmpty());
  free_answers(CUDA_ERROR_INVALID_VALUE);
  run(calls::MemFree{kPlain + 512});
  EXPECT_EQ(only_finding().rule, Rule::kFreeBase);
  EXPECT_THAT(only_finding().message, HasSubstr("is 512 B into"));
}

TEST_F(MemorySession, MemoryFromBeforeTheShimIsUnknown) {
  EXPECT_OK(run(calls::MemFree{kPlain}));
  // A code of earlier work that failed proves nothing about the address.
  for (const CUresult other :
       {CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_CONTEXT_IS_DESTROYED}) {
    free_answers(other);
    EXPECT_EQ(run(calls::MemFree{kPlain}), other);
  }
  EXPECT_THAT(findings_.rules(), IsEmpty());
  free_answers(CUDA_ERROR_INVALID_VALUE);
  run(calls::MemFree{kPlain + 512});
  EXPECT_THAT(findings_.rules(), ElementsAre("memory-free-known"));
}

TEST_F(MemorySession, MemoryThatEndedWithItsContextIsFreedTwice) {
  allocate();
  EXPECT_OK(run(calls::CtxDestroy{kContext}));  // call 2
  free_answers(CUDA_ERROR_INVALID_VALUE);
  run(calls::MemFree{kPlain});
  EXPECT_EQ(only_finding().rule, Rule::kFreeOnce);
  EXPECT_EQ(only_finding().objects.at(0).ended.call, 2u);
}

TEST_F(MemorySession, AReleaseThatEndsNoContextEndsNoMemory) {
  allocate();
  ON_CALL(mock_, DevicePrimaryCtxGetState(0, _, _))
      .WillByDefault(DoAll(SetArgPointee<1>(0), SetArgPointee<2>(1), Return(CUDA_SUCCESS)));
  EXPECT_OK(run(calls::DevicePrimaryCtxRelease{0}));
  session_.with_model([](const Model& model) { EXPECT_NE(model.memory().at(kPlain), nullptr); });
  ON_CALL(mock_, DevicePrimaryCtxGetState(0, _, _))
      .WillByDefault(DoAll(SetArgPointee<1>(0), SetArgPointee<2>(0), Return(CUDA_SUCCESS)));
  EXPECT_OK(run(calls::DevicePrimaryCtxRelease{0}));
  session_.with_model([](const Model& model) { EXPECT_EQ(model.memory().at(kPlain), nullptr); });
}

TEST_F(MemorySession, MemoryOfAPoolIsFreedByBothAndHasNoIpcHandle) {
  CUdeviceptr out = 0;
  EXPECT_OK(run(calls::MemAllocAsync{&out, kSize, kStream}));
  EXPECT_OK(run(calls::MemFree{kPlain}));
  EXPECT_OK(run(calls::MemAllocAsync{&out, kSize, kStream}));
  EXPECT_OK(run(calls::MemFreeAsync{kPlain, kStream}));
  EXPECT_THAT(findings_.rules(), IsEmpty());
  EXPECT_OK(run(calls::MemAllocAsync{&out, kSize, kStream}));
  ON_CALL(mock_, MemFreeHost(_)).WillByDefault(Return(CUDA_ERROR_INVALID_VALUE));
  run(calls::MemFreeHost{reinterpret_cast<void*>(kPlain)});
  EXPECT_THAT(findings_.rules(), ElementsAre("memory-free-function"));
}

TEST_F(MemorySession, HostMemoryIsNotFreedAsDeviceMemory) {
  void* out = nullptr;
  EXPECT_OK(run(calls::MemAllocHost{&out, kSize}));
  free_answers(CUDA_ERROR_INVALID_VALUE);
  run(calls::MemFree{reinterpret_cast<CUdeviceptr>(kHost)});
  EXPECT_THAT(findings_.rules(), ElementsAre("memory-free-function"));
  EXPECT_OK(run(calls::MemFreeHost{kHost}));
  EXPECT_EQ(findings_.all.size(), 1u);
}

TEST_F(MemorySession, ARangeIsRegisteredOnce) {
  EXPECT_OK(run(calls::MemHostRegister{kHost, kSize, 0}));
  ON_CALL(mock_, MemHostRegister(_, _, _))
      .WillByDefault(Return(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED));
  run(calls::MemHostRegister{static_cast<char*>(kHost) + kSize - 1, 64, 0});
  EXPECT_THAT(findings_.rules(), ElementsAre("cuMemHostRegister-once"));
  EXPECT_OK(run(calls::MemHostUnregister{kHost}));
  ON_CALL(mock_, MemHostUnregister(_)).WillByDefault(Return(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED));
  run(calls::MemHostUnregister{kHost});
  EXPECT_THAT(findings_.rules(),
              ElementsAre("cuMemHostRegister-once", "cuMemHostUnregister-registered"));
}

TEST_F(MemorySession, ADestroyedStreamIsNamedOnceItIsRefused) {
  allocate();
  EXPECT_OK(run(calls::StreamDestroy{kStream}));
  // Another stream has the handle by now.
  EXPECT_OK(run(calls::MemFreeAsync{kPlain, kStream}));
  EXPECT_THAT(findings_.rules(), IsEmpty());
  allocate();
  ON_CALL(mock_, MemFreeAsync(_, _)).WillByDefault(Return(CUDA_ERROR_INVALID_HANDLE));
  run(calls::MemFreeAsync{kPlain, kStream});
  EXPECT_THAT(findings_.rules(), ElementsAre("stream-alive"));
}

TEST_F(MemorySession, SoItIsInCallsThatHaveNoRuleOfTheirOwnAboutIt) {
  CUdeviceptr out = 0;
  CUmemoryPool pool = nullptr;
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  ON_CALL(mock_, MemPoolCreate(_, _))
      .WillByDefault(answers(reinterpret_cast<CUmemoryPool>(std::uintptr_t{0x500})));
  EXPECT_OK(run(calls::MemPoolCreate{&pool, &props}));
  const calls::MemAllocFromPoolAsync call{&out, kSize, pool, kStream};
  ON_CALL(mock_, MemAllocFromPoolAsync(_, _, _, _))
      .WillByDefault(Return(CUDA_ERROR_INVALID_HANDLE));
  run(call);
  EXPECT_THAT(findings_.rules(), IsEmpty());
  EXPECT_OK(run(calls::StreamDestroy{kStream}));
  run(call);
  EXPECT_THAT(findings_.rules(), ElementsAre("stream-alive"));
}

TEST_F(MemorySession, WithoutAccessTheRangeOfAMappingIsNotFound) {
  CUdeviceptr base = 0;
  CUmemGenericAllocationHandle memory = 0;
  std::size_t size = 0;
  ON_CALL(mock_, MemAddressReserve(_, _, _, _, _)).WillByDefault(answers(kPlain));
  ON_CALL(mock_, MemCreate(_, _, _, _)).WillByDefault(answers(0xe00));
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  EXPECT_OK(run(calls::MemAddressReserve{&base, 2 << 20, 0, 0, 0}));
  EXPECT_OK(run(calls::MemCreate{&memory, 2 << 20, &prop, 0}));
  EXPECT_OK(run(calls::MemMap{kPlain, 2 << 20, 0, memory, 0}));
  ON_CALL(mock_, MemGetAddressRange(_, _, _)).WillByDefault(Return(CUDA_ERROR_NOT_FOUND));
  run(calls::MemGetAddressRange{&base, &size, kPlain + 5});
  EXPECT_THAT(findings_.rules(), ElementsAre("cuMemGetAddressRange-access"));
  EXPECT_THAT(only_finding().message, HasSubstr("device 0 has no access"));
  // The model knows nothing of memory elsewhere, and to ask for it is legal.
  run(calls::MemGetAddressRange{&base, &size, 0x1000});
  EXPECT_EQ(findings_.all.size(), 1u);
}

}  // namespace
}  // namespace cuvmm::shim
