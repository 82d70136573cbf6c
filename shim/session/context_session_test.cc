// SPDX-License-Identifier: Apache-2.0
// After a call ends a context, the model does not know the objects that ended with the context:
// cuvmm reports no leak of them, and judges no other memory wrong at an address of a former object.
// The model goes on to follow objects that outlive a context.
#include <gmock/gmock.h>

#include <thread>

#include "api/sizes.h"
#include "shim/session/mocked_session.h"

namespace cuvmm::shim {
namespace {

using testing::_;
using testing::DoAll;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Return;
using testing::SetArgPointee;
using testing::UnorderedElementsAre;

constexpr CUdeviceptr kBuffer = 0x700000000000;
const auto kContext = reinterpret_cast<CUcontext>(std::uintptr_t{0x10});
const auto kOtherContext = reinterpret_cast<CUcontext>(std::uintptr_t{0x20});
const auto kMemory = reinterpret_cast<CUexternalMemory>(std::uintptr_t{0x5000});
const auto kSemaphore = reinterpret_cast<CUexternalSemaphore>(std::uintptr_t{0x6000});

/// kContext is current, on device 0 of two.
class ContextSession : public MockedSession {
 protected:
  ContextSession() {
    ON_CALL(mock_, DeviceGetCount(_)).WillByDefault(answers(2));
    ON_CALL(mock_, CtxGetCurrent(_)).WillByDefault(answers(kContext));
    ON_CALL(mock_, CtxGetDevice(_)).WillByDefault(answers(0));
    ON_CALL(mock_, ImportExternalMemory(_, _)).WillByDefault(answers(kMemory));
    ON_CALL(mock_, ImportExternalSemaphore(_, _)).WillByDefault(answers(kSemaphore));
    ON_CALL(mock_, ExternalMemoryGetMappedBuffer(_, _, _)).WillByDefault(answers(kBuffer));
    ON_CALL(mock_, IpcOpenMemHandle(_, _, _)).WillByDefault(answers(kOpened));
    ON_CALL(mock_, MemPoolCreate(_, _)).WillByDefault(answers(kPool));
    ON_CALL(mock_, MemCreate(_, _, _, _))
        .WillByDefault(answers(CUmemGenericAllocationHandle{0xe00}));
    primary_is(0);
  }
  /// Sets the driver's answer about the state of every primary context.
  void primary_is(int active) {
    ON_CALL(mock_, DevicePrimaryCtxGetState(_, _, _))
        .WillByDefault(DoAll(SetArgPointee<2>(active), Return(CUDA_SUCCESS)));
  }
  void import_memory() {
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc{};
    desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    desc.handle.fd = 3;
    desc.size = kGranule;
    CUexternalMemory memory = nullptr;
    run(calls::ImportExternalMemory{&memory, &desc});
  }
  void map_buffer() {
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC part{};
    part.size = kGranule;
    CUdeviceptr address = 0;
    run(calls::ExternalMemoryGetMappedBuffer{&address, kMemory, &part});
  }
  void import_semaphore() {
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc{};
    desc.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD;
    desc.handle.fd = 4;
    CUexternalSemaphore semaphore = nullptr;
    run(calls::ImportExternalSemaphore{&semaphore, &desc});
  }
  void open_ipc() {
    CUdeviceptr address = 0;
    CUipcMemHandle handle{};
    handle.reserved[0] = 2;
    run(calls::IpcOpenMemHandle{&address, handle, 1});
  }
  void make_pool() {
    CUmemPoolProps props{};
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemoryPool pool = nullptr;
    run(calls::MemPoolCreate{&pool, &props});
  }
  void create() {
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemGenericAllocationHandle handle = 0;
    run(calls::MemCreate{&handle, kGranule, &prop, 0});
  }
  void make_one_of_each() {
    import_memory();
    map_buffer();
    import_semaphore();
    open_ipc();
    make_pool();
    create();
    findings_.all.clear();  // the model treats every descriptor as closed
  }
  std::vector<std::string> leaks() {
    std::vector<std::string> ids;
    session_.with_model([&](const Model& model) {
      for (const Violation& v : check_exit(model, [](const Export&) { return true; })) {
        ids.emplace_back(info(v.rule).id);
      }
    });
    return ids;
  }
};

TEST_F(ContextSession, AResetTakesAllButMemoryOfCuMemCreate) {
  make_one_of_each();
  EXPECT_EQ(leaks().size(), 6u);
  EXPECT_OK(run(calls::DevicePrimaryCtxReset{0}));
  EXPECT_THAT(leaks(), ElementsAre(info(Rule::kCreateLeak).id));
  EXPECT_THAT(findings_.rules(), IsEmpty());
}

TEST_F(ContextSession, ARefusedResetAndThatOfAnotherDeviceTakeNothing) {
  make_one_of_each();
  EXPECT_CALL(mock_, DevicePrimaryCtxReset(0)).WillOnce(Return(CUDA_ERROR_INVALID_DEVICE));
  EXPECT_EQ(run(calls::DevicePrimaryCtxReset{0}), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(leaks().size(), 6u);
  EXPECT_CALL(mock_, DevicePrimaryCtxReset(1)).WillOnce(Return(CUDA_SUCCESS));
  EXPECT_OK(run(calls::DevicePrimaryCtxReset{1}));
  EXPECT_EQ(leaks().size(), 6u);
}

TEST_F(ContextSession, OnlyTheLastReleaseEndsThePrimaryContext) {
  make_one_of_each();
  primary_is(1);
  EXPECT_OK(run(calls::DevicePrimaryCtxRelease{0}));
  EXPECT_EQ(leaks().size(), 6u);
  primary_is(0);
  EXPECT_OK(run(calls::DevicePrimaryCtxRelease{0}));
  EXPECT_THAT(leaks(), ElementsAre(info(Rule::kCreateLeak).id));
}

TEST_F(ContextSession, ADestroyedContextTakesItsOwnAndLeavesPools) {
  make_one_of_each();
  EXPECT_OK(run(calls::CtxDestroy{kOtherContext}));
  EXPECT_EQ(leaks().size(), 6u);
  EXPECT_OK(run(calls::CtxDestroy{kContext}));
  EXPECT_THAT(leaks(), UnorderedElementsAre(info(Rule::kCreateLeak).id, info(Rule::kPoolLeak).id));
}

TEST_F(ContextSession, TheFirstAbisAreFollowedToo) {
  make_one_of_each();
  const auto old = session_.run(Symbol::k_cuDevicePrimaryCtxReset, calls::DevicePrimaryCtxReset{0},
                                CUVMM_CALLER);
  EXPECT_OK(old);
  EXPECT_EQ(leaks().size(), 1u);
}

// The buffer's memory is destroyed, so that its bytes may not be touched; then the context ends and
// cuMemAlloc gets the address.
TEST_F(ContextSession, PlainMemoryWhereABufferWasIsFilledInPeace) {
  import_memory();
  map_buffer();
  EXPECT_OK(run(calls::DestroyExternalMemory{kMemory}));
  findings_.all.clear();
  EXPECT_OK(run(calls::MemsetD8{kBuffer, 0, 16}));
  EXPECT_THAT(findings_.rules(), ElementsAre(info(Rule::kExtBufferAfterDestroy).id));
  EXPECT_OK(run(calls::DevicePrimaryCtxReset{0}));
  findings_.all.clear();
  EXPECT_OK(run(calls::MemsetD8{kBuffer, 0, 16}));
  EXPECT_OK(run(calls::MemFree{kBuffer}));
  EXPECT_THAT(findings_.rules(), IsEmpty());
}

// Only the driver judges a close that comes after the end of the context.
TEST_F(ContextSession, WhatIsEndedAfterItsContextIsUnknown) {
  make_one_of_each();
  EXPECT_OK(run(calls::DevicePrimaryCtxReset{0}));
  EXPECT_OK(run(calls::IpcCloseMemHandle{kOpened}));
  EXPECT_OK(run(calls::DestroyExternalMemory{kMemory}));
  EXPECT_OK(run(calls::MemPoolDestroy{kPool}));
  EXPECT_THAT(findings_.rules(), IsEmpty());
}

// Another thread makes its calls while the driver is at work: the mock's answers below start that
// thread.
TEST_F(ContextSession, WhatAnotherThreadEndsMeanwhileStaysEnded) {
  make_one_of_each();
  primary_is(1);
  EXPECT_CALL(mock_, DevicePrimaryCtxRelease(0)).WillOnce([&](CUdevice) {
    std::thread([&] {
      EXPECT_OK(run(calls::IpcCloseMemHandle{kOpened}));
      EXPECT_OK(run(calls::MemFree{kBuffer}));
      EXPECT_OK(run(calls::DestroyExternalMemory{kMemory}));
      EXPECT_OK(run(calls::DestroyExternalSemaphore{kSemaphore}));
      EXPECT_OK(run(calls::MemPoolDestroy{kPool}));
    }).join();
    return CUDA_SUCCESS;
  });
  EXPECT_OK(run(calls::DevicePrimaryCtxRelease{0}));
  EXPECT_THAT(leaks(), ElementsAre(info(Rule::kCreateLeak).id));
  EXPECT_THAT(findings_.rules(), IsEmpty());
}

TEST_F(ContextSession, WhatAnotherThreadMakesMeanwhileIsKept) {
  import_memory();
  open_ipc();
  EXPECT_CALL(mock_, DevicePrimaryCtxReset(0)).WillOnce([&](CUdevice) {
    std::thread([&] {
      import_memory();
      open_ipc();
    }).join();
    return CUDA_SUCCESS;
  });
  EXPECT_OK(run(calls::DevicePrimaryCtxReset{0}));
  EXPECT_THAT(leaks(),
              UnorderedElementsAre(info(Rule::kExtImportLeak).id, info(Rule::kIpcOpenLeak).id));
  // One open comes before, and one during, a release that ends nothing: the model counts two opens.
  primary_is(1);
  EXPECT_CALL(mock_, DevicePrimaryCtxRelease(0)).WillOnce([&](CUdevice) {
    std::thread([&] { open_ipc(); }).join();
    return CUDA_SUCCESS;
  });
  EXPECT_OK(run(calls::DevicePrimaryCtxRelease{0}));
  session_.with_model(
      [](const Model& model) { EXPECT_EQ(model.ipc().open_of(kOpened)->count, 2u); });
}

}  // namespace
}  // namespace cuvmm::shim
