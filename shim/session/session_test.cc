// SPDX-License-Identifier: Apache-2.0
#include "api/sizes.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <thread>

#include "shim/base/runtime_call.h"
#include "shim/session/mocked_session.h"

namespace cuvmm::shim {
namespace {

using testing::_;
using testing::InSequence;
using testing::Return;

constexpr CUmemGenericAllocationHandle kHandle = 0xe000000100;

/// A session over the mock, which passes as the emulator's so that handles need not be readable.
class SessionTest : public MockedSession {
 protected:
  SessionTest() {
    ON_CALL(mock_, DeviceGetCount(_)).WillByDefault(answers(2));
    ON_CALL(mock_, DeviceCanAccessPeer(_, _, _)).WillByDefault(answers(1));
    ON_CALL(mock_, MemGetAllocationGranularity(_, _, _)).WillByDefault(answers(kGranule));
    prop_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop_.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  }

  using MockedSession::run;
  template <class CallStruct>
  [[gnu::noinline]] static CUresult run(Session& session, const CallStruct& call) {
    return session.run(Driver::primary_symbol(CallStruct::kEntryPoint), call, CUVMM_CALLER);
  }

  CUdeviceptr reserve(CUdeviceptr base, std::size_t size) {
    EXPECT_CALL(mock_, MemAddressReserve(_, size, 0, 0, 0))
        .WillOnce(answers(base))
        .RetiresOnSaturation();
    CUdeviceptr ptr = 0;
    EXPECT_OK(run(calls::MemAddressReserve{.ptr = &ptr, .size = size}));
    return ptr;
  }
  CUmemGenericAllocationHandle create(CUmemGenericAllocationHandle value, std::size_t size) {
    EXPECT_CALL(mock_, MemCreate(_, size, &prop_, 0))
        .WillOnce(answers(value))
        .RetiresOnSaturation();
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_OK(run(calls::MemCreate{.handle = &handle, .size = size, .prop = &prop_}));
    return handle;
  }
  void map(CUdeviceptr at, std::size_t size, CUmemGenericAllocationHandle handle) {
    EXPECT_CALL(mock_, MemMap(at, size, 0, handle, 0))
        .WillOnce(Return(CUDA_SUCCESS))
        .RetiresOnSaturation();
    EXPECT_OK(run(calls::MemMap{.ptr = at, .size = size, .handle = handle}));
  }

  CUmemAllocationProp prop_{};
};

TEST_F(SessionTest, ForwardsEveryCallOnceWithItsArguments) {
  const auto ptr = reserve(kBase, 2 * kGranule);
  const auto handle = create(kHandle, kGranule);
  map(ptr, kGranule, handle);
  CUmemAccessDesc access{prop_.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  EXPECT_CALL(mock_, MemSetAccess(ptr, kGranule, &access, 1)).WillOnce(Return(CUDA_SUCCESS));
  EXPECT_OK(run(calls::MemSetAccess{ptr, kGranule, &access, 1}));
  EXPECT_CALL(mock_, MemUnmap(ptr, kGranule)).WillOnce(Return(CUDA_SUCCESS));
  EXPECT_OK(run(calls::MemUnmap{ptr, kGranule}));
  EXPECT_CALL(mock_, MemRelease(handle)).WillOnce(Return(CUDA_SUCCESS));
  EXPECT_OK(run(calls::MemRelease{handle}));
  EXPECT_CALL(mock_, MemAddressFree(ptr, 2 * kGranule)).WillOnce(Return(CUDA_SUCCESS));
  EXPECT_OK(run(calls::MemAddressFree{ptr, 2 * kGranule}));
  EXPECT_THAT(findings_.rules(), testing::IsEmpty());
  EXPECT_EQ(session_.total(), 7u);
  EXPECT_EQ(session_.count(EntryPoint::kMemMap), 1u);
  session_.with_model([](const Model& model) {
    EXPECT_TRUE(model.reservations().empty());
    EXPECT_TRUE(model.allocations().empty());
    EXPECT_TRUE(model.mappings().empty());
  });
}

TEST_F(SessionTest, ReportsAndForwardsAMisuse) {
  const auto ptr = reserve(kBase, kGranule);
  const auto handle = create(kHandle, kGranule);
  EXPECT_CALL(mock_, MemMap(ptr, kGranule, 4096, handle, 0))
      .WillOnce(Return(CUDA_ERROR_INVALID_VALUE));
  EXPECT_EQ(run(calls::MemMap{ptr, kGranule, 4096, handle, 0}), CUDA_ERROR_INVALID_VALUE);
  ASSERT_THAT(findings_.rules(), testing::Contains("cuMemMap-offset-zero"));
  const Finding& finding = findings_.all.front();
  EXPECT_EQ(finding.entry, EntryPoint::kMemMap);
  EXPECT_EQ(finding.call_index, 3u);
  EXPECT_EQ(finding.answer->result, CUDA_ERROR_INVALID_VALUE);
  EXPECT_FALSE(finding.answer->enforced);
  EXPECT_FALSE(stack_frames(finding.stack).empty());
  ASSERT_EQ(finding.arguments.size(), 5u);
  EXPECT_STREQ(finding.arguments[1].name, "size");
  EXPECT_EQ(finding.arguments[1].text, "2 MiB");
  EXPECT_EQ(finding.arguments[2].text, "4 KiB");
}

TEST_F(SessionTest, ReportsAnAcceptedMisuse) {
  const auto ptr = reserve(kBase, kGranule);
  EXPECT_CALL(mock_, MemUnmap(ptr, kGranule)).WillOnce(Return(CUDA_SUCCESS));
  EXPECT_OK(run(calls::MemUnmap{ptr, kGranule}));
  ASSERT_EQ(findings_.all.size(), 1u);
  EXPECT_OK(findings_.all[0].answer->result);
}

TEST_F(SessionTest, EnforceAnswersWithoutForwarding) {
  Session enforcing(mock_.driver(), {.enforce = true, .emulated = true}, findings_);
  EXPECT_CALL(mock_, MemMap(_, _, _, _, _)).Times(0);
  EXPECT_EQ(run(enforcing, calls::MemMap{kBase, kGranule, 4096, kHandle, 0}),
            CUDA_ERROR_INVALID_VALUE);
  ASSERT_FALSE(findings_.all.empty());
  EXPECT_TRUE(findings_.all[0].answer->enforced);
  // A right call reaches the driver.
  EXPECT_CALL(mock_, MemAddressReserve(_, kGranule, 0, 0, 0)).WillOnce(answers(kBase));
  CUdeviceptr ptr = 0;
  EXPECT_OK(run(enforcing, calls::MemAddressReserve{.ptr = &ptr, .size = kGranule}));
  EXPECT_EQ(ptr, kBase);
}

TEST_F(SessionTest, EnforceKeepsWhatARefusedCallWouldHaveGivenUp) {
  Session enforcing(mock_.driver(), {.enforce = true, .emulated = true}, findings_);
  CUdeviceptr ptr = 0;
  EXPECT_CALL(mock_, MemAddressReserve(_, _, _, _, _)).WillOnce(answers(kBase));
  ASSERT_OK(run(enforcing, calls::MemAddressReserve{.ptr = &ptr, .size = kGranule}));
  EXPECT_CALL(mock_, MemAddressFree(_, _)).Times(0);
  EXPECT_EQ(run(enforcing, calls::MemAddressFree{ptr, 2 * kGranule}), CUDA_ERROR_INVALID_VALUE);
  enforcing.with_model([](const Model& model) { EXPECT_EQ(model.reservations().size(), 1u); });
}

TEST_F(SessionTest, AnUnreadableHandleIsCertainUnderEnforce) {
  Session on_hardware(mock_.driver(), {.enforce = true, .emulated = false}, findings_);
  EXPECT_CALL(mock_, MemRelease(_)).Times(0);
  EXPECT_EQ(run(on_hardware, calls::MemRelease{0x10}), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(findings_.all.size(), 1u);
  EXPECT_TRUE(findings_.all[0].violation.certain);
}

TEST_F(SessionTest, AReadableUnknownHandleIsTheDriversToJudge) {
  Session on_hardware(mock_.driver(), {.enforce = true, .emulated = false}, findings_);
  std::uint64_t object = 0;
  const auto handle = reinterpret_cast<CUmemGenericAllocationHandle>(&object);
  EXPECT_CALL(mock_, MemRelease(handle)).WillOnce(Return(CUDA_SUCCESS));
  EXPECT_OK(run(on_hardware, calls::MemRelease{handle}));
  EXPECT_TRUE(findings_.all.empty());
}

TEST_F(SessionTest, UncertainViolationsNeedARefusal) {
  // The model never saw the reservation: it is unknown, not wrong.
  EXPECT_CALL(mock_, MemAddressFree(kBase, kGranule))
      .WillOnce(Return(CUDA_SUCCESS))
      .WillOnce(Return(CUDA_ERROR_OUT_OF_MEMORY))
      .WillOnce(Return(CUDA_ERROR_INVALID_VALUE));
  run(calls::MemAddressFree{kBase, kGranule});
  EXPECT_TRUE(findings_.all.empty());
  run(calls::MemAddressFree{kBase, kGranule});
  EXPECT_TRUE(findings_.all.empty());
  run(calls::MemAddressFree{kBase, kGranule});
  ASSERT_EQ(findings_.all.size(), 1u);
  EXPECT_FALSE(findings_.all[0].violation.certain);
}

TEST_F(SessionTest, NotInitializedIsReportedAsThat) {
  EXPECT_CALL(mock_, MemRelease(kHandle)).WillOnce(Return(CUDA_ERROR_NOT_INITIALIZED));
  EXPECT_EQ(run(calls::MemRelease{kHandle}), CUDA_ERROR_NOT_INITIALIZED);
  ASSERT_EQ(findings_.all.size(), 1u);
  EXPECT_EQ(info(findings_.all[0].violation.rule).code, CUDA_ERROR_NOT_INITIALIZED);
}

TEST_F(SessionTest, ErrnoIsTheDrivers) {
  EXPECT_CALL(mock_, MemUnmap(_, _)).WillOnce([](CUdeviceptr, std::size_t) {
    EXPECT_EQ(errno, 1001);  // the program's value, and no value of the session's own work
    errno = 1002;
    return CUDA_ERROR_INVALID_VALUE;
  });
  errno = 1001;
  run(calls::MemUnmap{kBase + 1, 3});
  EXPECT_EQ(errno, 1002);
  EXPECT_FALSE(findings_.all.empty());
}

TEST_F(SessionTest, ErrnoSurvivesEnforce) {
  Session enforcing(mock_.driver(), {.enforce = true, .emulated = true}, findings_);
  errno = 1003;
  run(enforcing, calls::MemMap{kBase, kGranule, 4096, kHandle, 0});
  EXPECT_EQ(errno, 1003);
}

TEST_F(SessionTest, OutParametersOfARefusedCallAreNeitherReadNorWritten) {
  // A page that faults when it is touched.
  const long page = sysconf(_SC_PAGESIZE);
  void* trap =
      mmap(nullptr, static_cast<std::size_t>(page), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(trap, MAP_FAILED);
  auto* ptr = static_cast<CUdeviceptr*>(trap);
  auto* handle = static_cast<CUmemGenericAllocationHandle*>(trap);
  EXPECT_CALL(mock_, MemAddressReserve(ptr, kGranule, 0, 0, 0))
      .WillOnce(Return(CUDA_ERROR_OUT_OF_MEMORY));
  EXPECT_EQ(run(calls::MemAddressReserve{.ptr = ptr, .size = kGranule}), CUDA_ERROR_OUT_OF_MEMORY);
  // The refusal has a finding, so that the call is described as well.
  EXPECT_CALL(mock_, MemCreate(handle, 1, &prop_, 0)).WillOnce(Return(CUDA_ERROR_INVALID_VALUE));
  EXPECT_EQ(run(calls::MemCreate{.handle = handle, .size = 1, .prop = &prop_}),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(findings_.all.size(), 1u);
  Session enforcing(mock_.driver(), {.enforce = true, .emulated = true}, findings_);
  EXPECT_EQ(run(enforcing, calls::MemCreate{.handle = handle, .size = 0, .prop = &prop_}),
            CUDA_ERROR_INVALID_VALUE);
  munmap(trap, static_cast<std::size_t>(page));
}

// The driver gives a released handle out again before the release has returned to its caller.
TEST_F(SessionTest, AHandleReusedInsideTheCallIsNotConfused) {
  const auto handle = create(kHandle, kGranule);
  EXPECT_CALL(mock_, MemRelease(handle)).WillOnce([&](CUmemGenericAllocationHandle) {
    // Another thread's create, which the driver answers with the value just freed.
    std::thread([&] { create(handle, 2 * kGranule); }).join();
    return CUDA_SUCCESS;
  });
  EXPECT_OK(run(calls::MemRelease{handle}));
  session_.with_model([&](const Model& model) {
    const Allocation* allocation = model.allocation(handle);
    ASSERT_NE(allocation, nullptr);
    EXPECT_EQ(allocation->size, 2 * kGranule);
    EXPECT_EQ(allocation->references, 1u);
  });
  EXPECT_TRUE(findings_.all.empty());
}

TEST_F(SessionTest, AnAddressReusedInsideTheCallIsNotConfused) {
  const auto ptr = reserve(kBase, kGranule);
  EXPECT_CALL(mock_, MemAddressFree(ptr, kGranule)).WillOnce([&](CUdeviceptr, std::size_t) {
    std::thread([&] { reserve(ptr, 4 * kGranule); }).join();
    return CUDA_SUCCESS;
  });
  EXPECT_OK(run(calls::MemAddressFree{ptr, kGranule}));
  session_.with_model([&](const Model& model) {
    ASSERT_EQ(model.reservations().size(), 1u);
    EXPECT_EQ(model.reservations().begin()->second.size, 4 * kGranule);
  });
}

TEST_F(SessionTest, AMappingReusedInsideTheUnmapIsNotConfused) {
  const auto ptr = reserve(kBase, 2 * kGranule);
  const auto handle = create(kHandle, kGranule);
  map(ptr, kGranule, handle);
  EXPECT_CALL(mock_, MemUnmap(ptr, kGranule)).WillOnce([&](CUdeviceptr, std::size_t) {
    std::thread([&] { map(ptr, kGranule, handle); }).join();
    return CUDA_SUCCESS;
  });
  EXPECT_OK(run(calls::MemUnmap{ptr, kGranule}));
  session_.with_model([&](const Model& model) {
    EXPECT_EQ(model.mappings().size(), 1u);
    EXPECT_EQ(model.allocation(handle)->mappings, 1u);
  });
  EXPECT_TRUE(findings_.all.empty());
}

TEST_F(SessionTest, ARefusedReleaseKeepsTheReference) {
  const auto handle = create(kHandle, kGranule);
  EXPECT_CALL(mock_, MemRelease(handle)).WillOnce(Return(CUDA_ERROR_UNKNOWN));
  EXPECT_EQ(run(calls::MemRelease{handle}), CUDA_ERROR_UNKNOWN);
  session_.with_model(
      [&](const Model& model) { EXPECT_EQ(model.allocation(handle)->references, 1u); });
}

// The model notes all of these calls before the driver answers.
TEST_F(SessionTest, WhatIsRefusedLeavesTheModelAsItWas) {
  const auto ptr = reserve(kBase, kGranule);
  const auto handle = create(kHandle, kGranule);
  EXPECT_CALL(mock_, MemMap(ptr, kGranule, 0, handle, 0))
      .WillOnce(Return(CUDA_ERROR_OUT_OF_MEMORY));
  EXPECT_EQ(run(calls::MemMap{ptr, kGranule, 0, handle, 0}), CUDA_ERROR_OUT_OF_MEMORY);
  session_.with_model([&](const Model& model) {
    EXPECT_TRUE(model.mappings().empty());
    EXPECT_EQ(model.allocation(handle)->mappings, 0u);
  });
  map(ptr, kGranule, handle);
  CUmemAccessDesc access{prop_.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  EXPECT_CALL(mock_, MemSetAccess(ptr, kGranule, &access, 1)).WillOnce(Return(CUDA_ERROR_UNKNOWN));
  EXPECT_EQ(run(calls::MemSetAccess{ptr, kGranule, &access, 1}), CUDA_ERROR_UNKNOWN);
  session_.with_model(
      [&](const Model& model) { EXPECT_EQ(model.mapping_at(ptr)->access.read, 0u); });
  EXPECT_CALL(mock_, MemUnmap(ptr, kGranule))
      .WillOnce(Return(CUDA_ERROR_UNKNOWN))
      .WillOnce(Return(CUDA_SUCCESS));
  EXPECT_EQ(run(calls::MemUnmap{ptr, kGranule}), CUDA_ERROR_UNKNOWN);
  session_.with_model([&](const Model& model) {
    ASSERT_NE(model.mapping_at(ptr), nullptr);
    EXPECT_EQ(model.allocation(handle)->mappings, 1u);
    EXPECT_FALSE(model.tombstones().find(ObjectRef::Kind::kMapping, ptr));
  });
  EXPECT_OK(run(calls::MemUnmap{ptr, kGranule}));
  EXPECT_CALL(mock_, MemAddressFree(ptr, kGranule)).WillOnce(Return(CUDA_ERROR_UNKNOWN));
  EXPECT_EQ(run(calls::MemAddressFree{ptr, kGranule}), CUDA_ERROR_UNKNOWN);
  session_.with_model([&](const Model& model) {
    EXPECT_NE(model.reservation_at(ptr), nullptr);
    EXPECT_FALSE(model.tombstones().find(ObjectRef::Kind::kReservation, ptr));
    EXPECT_TRUE(model.tombstones().find(ObjectRef::Kind::kMapping, ptr));
  });
  EXPECT_TRUE(findings_.all.empty());
}

TEST_F(SessionTest, NoLockIsHeldWhileTheDriverWorks) {
  EXPECT_CALL(mock_, MemUnmap(_, _)).WillOnce([&](CUdeviceptr, std::size_t) {
    session_.with_model([](const Model&) {});  // would deadlock if the session held the lock
    return CUDA_ERROR_INVALID_VALUE;
  });
  run(calls::MemUnmap{kBase, kGranule});
}

TEST_F(SessionTest, CallsFromInsideTheDriverAreItsOwn) {
  EXPECT_CALL(mock_, MemUnmap(kBase, kGranule)).WillOnce([&](CUdeviceptr, std::size_t) {
    return run(calls::MemRelease{0x77});
  });
  EXPECT_CALL(mock_, MemRelease(0x77)).WillOnce(Return(CUDA_ERROR_INVALID_VALUE));
  run(calls::MemUnmap{kBase, kGranule});
  EXPECT_EQ(session_.total(), 1u);
  EXPECT_THAT(findings_.rules(), testing::Each(testing::StartsWith("cuMemUnmap")));
}

TEST_F(SessionTest, CopiesElsewhereAskNothing) {
  reserve(kBase, kGranule);
  EXPECT_CALL(mock_, CtxGetCurrent(_)).Times(0);
  EXPECT_CALL(mock_, MemcpyHtoD(0x1000, _, 8)).WillOnce(Return(CUDA_SUCCESS));
  char host[8] = {};
  EXPECT_OK(run(calls::MemcpyHtoD{0x1000, host, sizeof host}));
  EXPECT_EQ(session_.count(EntryPoint::kMemcpyHtoD), 1u);
}

TEST_F(SessionTest, CopiesIntoAHoleAreFound) {
  const auto ptr = reserve(kBase, kGranule);
  ON_CALL(mock_, CtxGetCurrent(_)).WillByDefault(answers(reinterpret_cast<CUcontext>(1)));
  char host[8] = {};
  EXPECT_CALL(mock_, MemcpyHtoD(ptr, _, 8)).WillOnce(Return(CUDA_SUCCESS));
  EXPECT_OK(run(calls::MemcpyHtoD{ptr, host, sizeof host}));
  ASSERT_EQ(findings_.all.size(), 1u);
  EXPECT_EQ(info(findings_.all[0].violation.rule).kind != RuleKind::kLeak, true);
}

TEST_F(SessionTest, TheContextIsAsItWasAfterAskingAnothersDevice) {
  const auto current = reinterpret_cast<CUcontext>(1), other = reinterpret_cast<CUcontext>(2);
  ON_CALL(mock_, CtxGetCurrent(_)).WillByDefault(answers(current));
  const InSequence order;
  EXPECT_CALL(mock_, CtxPushCurrent(other)).WillOnce(Return(CUDA_SUCCESS));
  EXPECT_CALL(mock_, CtxGetDevice(_)).WillOnce(answers(1));
  EXPECT_CALL(mock_, CtxPopCurrent(_)).WillOnce(Return(CUDA_SUCCESS));
  const FactFinder facts(mock_.driver(), true);
  EXPECT_EQ(facts.device_of(other), 1);
}

TEST_F(SessionTest, GranularityIsAskedOncePerKindOfMemory) {
  EXPECT_CALL(mock_, MemGetAllocationGranularity(_, _, CU_MEM_ALLOC_GRANULARITY_MINIMUM))
      .WillOnce(answers(kGranule));
  create(kHandle, kGranule);
  create(kHandle + 1, kGranule);
}

TEST_F(SessionTest, ADescriptorIsTheExportedOneOrItIsNot) {
  const auto handle = create(kHandle, kGranule);
  const int exported = open("/dev/null", O_RDONLY);
  int fd = -1;
  EXPECT_CALL(mock_, MemExportToShareableHandle(_, handle, _, 0))
      .WillOnce([&](void* out, auto, auto, auto) {
        *static_cast<int*>(out) = exported;
        return CUDA_SUCCESS;
      });
  run(calls::MemExportToShareableHandle{&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0});
  const auto still = [&] {
    return session_.with_model(
        [&](const Model& model) { return session_.still_exported(model.exports().at(exported)); });
  };
  EXPECT_TRUE(still());
  close(exported);
  EXPECT_FALSE(still());
  const int reused = open("/dev/zero", O_RDONLY);  // the number is the same, the file is another
  ASSERT_EQ(reused, exported);
  EXPECT_FALSE(still());
  close(reused);
}

TEST_F(SessionTest, AMissingFunctionIsNotFound) {
  const Driver empty;
  Session session(empty, {}, findings_);
  EXPECT_EQ(run(session, calls::MemRelease{kHandle}), CUDA_ERROR_NOT_FOUND);
}

// Does the work of a runtime function's wrapper: all driver calls of the runtime library in it have
// one place.
class RuntimeFunction {
 public:
  template <class Body>
  [[gnu::noinline]] static void call(const char* name, Body body) {
    const RuntimeCall call{name, CUVMM_CALLER};
    const RuntimeScope scope(call);
    body();
    places.push_back(call.caller.return_address);
  }
  static inline std::vector<std::uintptr_t> places;
};

// Leaves a scope that was never ended, as longjmp does.
[[gnu::noinline]] void leave_a_runtime_function() {
  alignas(RuntimeScope) static std::byte place[sizeof(RuntimeScope)];
  new (place) RuntimeScope({"cudaLeft", CUVMM_CALLER});
}

TEST_F(SessionTest, ARuntimeFunctionThatWasLeftByAJumpIsNotNamed) {
  leave_a_runtime_function();
  run(calls::MemMap{.ptr = kBase, .size = kGranule, .offset = kGranule, .handle = kHandle});
  ASSERT_FALSE(findings_.all.empty());
  for (const Finding& finding : findings_.all) EXPECT_EQ(finding.runtime, nullptr);
  RuntimeFunction::call("cudaNext", [] { EXPECT_STREQ(runtime_call()->name, "cudaNext"); });
  EXPECT_EQ(runtime_call(), nullptr);
}

TEST_F(SessionTest, AFindingNamesTheRuntimeFunctionAndWhereItWasCalled) {
  ON_CALL(mock_, MemMap(_, _, _, _, _)).WillByDefault(Return(CUDA_ERROR_INVALID_VALUE));
  const calls::MemMap wrong{.ptr = kBase, .size = kGranule, .offset = kGranule, .handle = kHandle};
  RuntimeFunction::places.clear();
  RuntimeFunction::call("cudaOuter", [&] { run(wrong); });
  // The runtime may use its own functions: the program called the outer one.
  RuntimeFunction::call("cudaOther",
                        [&] { RuntimeFunction::call("cudaInner", [&] { run(wrong); }); });
  run(wrong);
  std::vector<Finding> offsets;
  for (const Finding& finding : findings_.all) {
    if (finding.violation.rule == Rule::kMapOffsetZero) offsets.push_back(finding);
  }
  ASSERT_EQ(offsets.size(), 3u);
  EXPECT_STREQ(offsets[0].runtime, "cudaOuter");
  EXPECT_STREQ(offsets[1].runtime, "cudaOther");
  EXPECT_EQ(offsets[2].runtime, nullptr);
  ASSERT_EQ(RuntimeFunction::places.size(), 3u);
  EXPECT_EQ(stack_frames(offsets[0].stack).front(), RuntimeFunction::places[0]);
  EXPECT_EQ(stack_frames(offsets[1].stack).front(), RuntimeFunction::places[2]);
  EXPECT_NE(stack_frames(offsets[2].stack).front(), stack_frames(offsets[0].stack).front());
}

}  // namespace
}  // namespace cuvmm::shim
