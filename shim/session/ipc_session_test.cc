// SPDX-License-Identifier: Apache-2.0
// The parts of legacy IPC and of pools that only a session has: the questions to the driver, the
// frees that end an export, and the memory that is left open.
#include <gmock/gmock.h>

#include <algorithm>

#include "shim/session/mocked_session.h"

namespace cuvmm::shim {
namespace {

using testing::_;
using testing::DoAll;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Return;
using testing::SetArgPointee;

constexpr CUdeviceptr kPlain = 0x710000000000;

CUipcMemHandle bytes(char first) {
  CUipcMemHandle handle{};
  handle.reserved[0] = first;
  return handle;
}

/// A context is current on device 0; kPlain is memory of cuMemAlloc, 1 MiB; opens return kOpened.
class IpcSession : public MockedSession {
 protected:
  IpcSession() {
    ON_CALL(mock_, DeviceGetCount(_)).WillByDefault(answers(1));
    ON_CALL(mock_, CtxGetCurrent(_)).WillByDefault(answers(reinterpret_cast<CUcontext>(0x10)));
    ON_CALL(mock_, MemGetAddressRange(_, _, _))
        .WillByDefault(
            DoAll(SetArgPointee<0>(kPlain), SetArgPointee<1>(1 << 20), Return(CUDA_SUCCESS)));
    ON_CALL(mock_, PointerGetAttribute(_, _, _))
        .WillByDefault([](void* data, CUpointer_attribute, CUdeviceptr) {
          *static_cast<int*>(data) = 1;
          return CUDA_SUCCESS;
        });
    ON_CALL(mock_, IpcGetMemHandle(_, _)).WillByDefault(answers(bytes(1)));
    ON_CALL(mock_, IpcOpenMemHandle(_, _, _)).WillByDefault(answers(kOpened));
    ON_CALL(mock_, IpcCloseMemHandle(_)).WillByDefault(Return(CUDA_SUCCESS));
    ON_CALL(mock_, MemFree(_)).WillByDefault(Return(CUDA_SUCCESS));
  }

  CUresult get(CUdeviceptr address) {
    CUipcMemHandle handle;
    return run(calls::IpcGetMemHandle{&handle, address});
  }
  CUresult open(char first = 2, unsigned flags = 1) {
    CUdeviceptr address = 0;
    return run(calls::IpcOpenMemHandle{&address, bytes(first), flags});
  }
  CUresult close(CUdeviceptr address = kOpened) { return run(calls::IpcCloseMemHandle{address}); }
  Violations at_exit() {
    return session_.with_model(
        [](const Model& model) { return check_exit(model, [](const Export&) { return false; }); });
  }
};

TEST_F(IpcSession, ALegalLifeHasNoFindings) {
  EXPECT_OK(get(kPlain));
  EXPECT_OK(open());
  EXPECT_OK(open());
  EXPECT_OK(close());
  EXPECT_OK(close());
  EXPECT_OK(run(calls::MemFree{kPlain}));
  EXPECT_THAT(findings_.rules(), IsEmpty());
  EXPECT_TRUE(at_exit().empty());
}

TEST_F(IpcSession, AnAcceptedInteriorPointerIsReported) {
  EXPECT_OK(get(kPlain + 512));
  EXPECT_THAT(findings_.rules(), ElementsAre("cuIpcGetMemHandle-dptr-base"));
}

TEST_F(IpcSession, OpenedTwiceAndClosedOnceIsALeak) {
  EXPECT_OK(open());
  EXPECT_OK(open());
  EXPECT_OK(close());
  const Violations leaks = at_exit();
  ASSERT_EQ(leaks.size(), 1u);
  EXPECT_EQ(leaks[0].rule, Rule::kIpcOpenLeak);
  EXPECT_THAT(leaks[0].message, HasSubstr("opened 2 times and closed 1 time"));
}

TEST_F(IpcSession, ARefusedCloseLeavesItOpen) {
  EXPECT_OK(open());
  EXPECT_CALL(mock_, IpcCloseMemHandle(kOpened)).WillOnce(Return(CUDA_ERROR_INVALID_CONTEXT));
  EXPECT_EQ(close(), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(at_exit().size(), 1u);
}

TEST_F(IpcSession, ASurplusCloseIsCertainOnceItWasSeen) {
  EXPECT_OK(open());
  EXPECT_OK(close());
  EXPECT_CALL(mock_, IpcCloseMemHandle(kOpened)).WillOnce(Return(CUDA_ERROR_INVALID_VALUE));
  EXPECT_EQ(close(), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(findings_.rules(), ElementsAre("cuIpcCloseMemHandle-pairing"));
}

TEST_F(IpcSession, OnesOwnHandleIsKnownByItsBytes) {
  EXPECT_OK(get(kPlain));
  EXPECT_CALL(mock_, IpcOpenMemHandle(_, _, _)).WillOnce(Return(CUDA_ERROR_INVALID_CONTEXT));
  EXPECT_EQ(open(1), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_THAT(findings_.rules(), ElementsAre("cuIpcOpenMemHandle-other-process"));
}

TEST_F(IpcSession, TheDriversCodeTellsWhatIsWrongWithAnUnknownHandle) {
  EXPECT_CALL(mock_, IpcOpenMemHandle(_, _, _))
      .WillOnce(Return(CUDA_ERROR_INVALID_HANDLE))
      .WillOnce(Return(CUDA_ERROR_INVALID_VALUE))
      .WillOnce(Return(CUDA_ERROR_MAP_FAILED));
  EXPECT_EQ(open(), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(open(), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(open(), CUDA_ERROR_MAP_FAILED);
  EXPECT_THAT(findings_.rules(),
              ElementsAre("cuIpcOpenMemHandle-exporter-alive", "cuIpcOpenMemHandle-memory-alive",
                          "cuIpcOpenMemHandle-peer"));
}

TEST_F(IpcSession, MemoryAtTheAddressOfAnEndedContextIsNotMistaken) {
  EXPECT_OK(open());
  // The context ended, and cuMemAlloc gave the address out; the session saw neither call.
  EXPECT_OK(run(calls::MemFree{kOpened}));
  EXPECT_THAT(findings_.rules(), IsEmpty());
}

TEST_F(IpcSession, TheLogHasOneUsePerHandle) {
  EXPECT_EQ(session_.ipc_log(std::chrono::seconds(1)).json(), "");
  EXPECT_OK(get(kPlain));
  EXPECT_OK(get(kPlain));
  EXPECT_OK(open());
  EXPECT_OK(open());
  EXPECT_OK(close());
  EXPECT_THAT(session_.ipc_log(std::chrono::seconds(1)).json(), HasSubstr("\"ended_by_call\":0"));
  EXPECT_OK(close());
  EXPECT_OK(run(calls::MemFree{kPlain}));
  const std::string json = session_.ipc_log(std::chrono::seconds(1)).json();
  EXPECT_THAT(json, Not(HasSubstr("\"until\":0}")));
  EXPECT_THAT(json, HasSubstr("\"role\":\"export\""));
  EXPECT_THAT(json, HasSubstr("\"ended_by_call\":6"));
  EXPECT_THAT(json, HasSubstr("\"ended_by_call\":7"));
  EXPECT_EQ(std::count(json.begin(), json.end(), '{'), 2);
  EXPECT_FALSE(session_.ipc_log(std::chrono::seconds(1)).stacks(64).empty());
  EXPECT_EQ(session_.ipc_log(std::chrono::seconds(1)).stacks(1).size(), 1u);
}

TEST_F(IpcSession, ADefaultPoolIsKnownByAskingForIt) {
  const auto pool = reinterpret_cast<CUmemoryPool>(0x500);
  ON_CALL(mock_, DeviceGetDefaultMemPool(_, 0)).WillByDefault(answers(pool));
  EXPECT_CALL(mock_, MemPoolDestroy(pool)).WillOnce(Return(CUDA_ERROR_INVALID_VALUE));
  EXPECT_EQ(run(calls::MemPoolDestroy{pool}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(findings_.rules(), ElementsAre("cuMemPoolDestroy-not-default"));
}

TEST_F(IpcSession, MemoryOfADefaultPoolCannotBeShared) {
  const auto pool = reinterpret_cast<CUmemoryPool>(0x500);
  ON_CALL(mock_, DeviceGetDefaultMemPool(_, 0)).WillByDefault(answers(pool));
  EXPECT_CALL(mock_, MemAllocFromPoolAsync(_, 64, pool, nullptr)).WillOnce(answers(kPlain));
  CUdeviceptr address = 0;
  EXPECT_OK(run(calls::MemAllocFromPoolAsync{&address, 64, pool, nullptr}));
  EXPECT_CALL(mock_, MemPoolExportPointer(_, kPlain)).WillOnce(Return(CUDA_ERROR_INVALID_VALUE));
  CUmemPoolPtrExportData data{};
  EXPECT_EQ(run(calls::MemPoolExportPointer{&data, address}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(findings_.rules(), ElementsAre("cuMemPoolExportPointer-pool-shareable"));
}

TEST_F(IpcSession, MemoryOfAPoolEndsWithEitherFree) {
  const auto pool = reinterpret_cast<CUmemoryPool>(0x500);
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  EXPECT_CALL(mock_, MemPoolCreate(_, _)).WillOnce(answers(pool));
  CUmemoryPool made = nullptr;
  EXPECT_OK(run(calls::MemPoolCreate{&made, &props}));
  EXPECT_CALL(mock_, MemAllocFromPoolAsync(_, 64, pool, nullptr)).WillOnce(answers(kPlain));
  CUdeviceptr address = 0;
  EXPECT_OK(run(calls::MemAllocFromPoolAsync{&address, 64, pool, nullptr}));
  EXPECT_TRUE(at_exit().empty()) << "it is in use";
  EXPECT_CALL(mock_, MemFreeAsync(kPlain, nullptr)).WillOnce(Return(CUDA_SUCCESS));
  EXPECT_OK(run(calls::MemFreeAsync{kPlain, nullptr}));
  ASSERT_EQ(at_exit().size(), 1u);
  EXPECT_EQ(at_exit()[0].rule, Rule::kPoolLeak);
  EXPECT_CALL(mock_, MemPoolDestroy(pool)).WillOnce(Return(CUDA_SUCCESS));
  EXPECT_OK(run(calls::MemPoolDestroy{pool}));
  EXPECT_TRUE(at_exit().empty());
  EXPECT_THAT(findings_.rules(), IsEmpty());
}

}  // namespace
}  // namespace cuvmm::shim
