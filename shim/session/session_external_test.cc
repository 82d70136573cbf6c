// SPDX-License-Identifier: Apache-2.0
// External memory through a session: descriptors change hands, and buffers outlive their memory.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api/sizes.h"
#include "shim/session/mocked_session.h"

namespace cuvmm::shim {
namespace {

using testing::_;
using testing::Return;

constexpr CUdeviceptr kBuffer = 0x700000000000;
const auto kMemory = reinterpret_cast<CUexternalMemory>(std::uintptr_t{0x5000});
const auto kContext = reinterpret_cast<CUcontext>(std::uintptr_t{0x10});

class ExternalSession : public MockedSession {
 protected:
  ExternalSession() {
    ON_CALL(mock_, DeviceGetCount(_)).WillByDefault(answers(1));
    ON_CALL(mock_, CtxGetCurrent(_)).WillByDefault(answers(kContext));
    ON_CALL(mock_, CtxGetDevice(_)).WillByDefault(answers(0));
    // As a real driver: a success consumes the descriptor.
    ON_CALL(mock_, ImportExternalMemory(_, _))
        .WillByDefault([](CUexternalMemory* out, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* desc) {
          if (close(desc->handle.fd) != 0) return CUDA_ERROR_UNKNOWN;
          *out = kMemory;
          return CUDA_SUCCESS;
        });
    ON_CALL(mock_, ExternalMemoryGetMappedBuffer(_, _, _)).WillByDefault(answers(kBuffer));
  }
  CUresult import(int fd, std::size_t size = kGranule) {
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc{};
    desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    desc.handle.fd = fd;
    desc.size = size;
    CUexternalMemory memory = nullptr;
    return run(calls::ImportExternalMemory{&memory, &desc});
  }
  void buffer() {
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC desc{};
    desc.size = kGranule;
    CUdeviceptr address = 0;
    EXPECT_OK(run(calls::ExternalMemoryGetMappedBuffer{&address, kMemory, &desc}));
  }
  std::vector<std::string> leaks() {
    return session_.with_model([&](const Model& model) {
      std::vector<std::string> ids;
      for (const Violation& v : check_exit(model, [](const Export&) { return true; })) {
        ids.emplace_back(info(v.rule).id);
      }
      return ids;
    });
  }
  /// Exports an allocation of one page as `fd`; from then on only the descriptor keeps the
  /// allocation alive.
  void export_as(int fd) {
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_CALL(mock_, MemCreate(_, _, _, _)).WillOnce(answers(0xe00));
    run(calls::MemCreate{&handle, kGranule, &prop, 0});
    EXPECT_CALL(mock_, MemExportToShareableHandle(_, _, _, _))
        .WillOnce([fd](void* out, auto, auto, auto) {
          *static_cast<int*>(out) = fd;
          return CUDA_SUCCESS;
        });
    int out = -1;
    run(calls::MemExportToShareableHandle{&out, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                          0});
    EXPECT_CALL(mock_, MemRelease(handle)).WillOnce(Return(CUDA_SUCCESS));
    run(calls::MemRelease{handle});
  }
  static int memory_file() {
    const int fd = memfd_create("exported", MFD_CLOEXEC);
    EXPECT_EQ(ftruncate(fd, kGranule), 0);
    return fd;
  }
};

TEST_F(ExternalSession, ACleanImportSaysNothing) {
  EXPECT_OK(import(memory_file()));
  buffer();
  EXPECT_OK(run(calls::MemFree{kBuffer}));
  EXPECT_OK(run(calls::DestroyExternalMemory{kMemory}));
  EXPECT_THAT(findings_.rules(), testing::IsEmpty());
  EXPECT_THAT(leaks(), testing::IsEmpty());
}

TEST_F(ExternalSession, TheSecondImportOfADescriptorIsCaught) {
  const int fd = memory_file();
  EXPECT_OK(import(fd));
  EXPECT_EQ(import(fd), CUDA_ERROR_UNKNOWN);
  EXPECT_THAT(findings_.rules(), testing::ElementsAre("cuImportExternalMemory-fd-owned"));
  ASSERT_EQ(findings_.all[0].violation.objects.size(), 1u);
  EXPECT_EQ(findings_.all[0].violation.objects[0].ended.call, 1u) << "who took it";
}

TEST_F(ExternalSession, ANumberThatTheSystemGaveOutAgainIsFine) {
  const int fd = memory_file();
  EXPECT_OK(import(fd));
  ASSERT_EQ(memory_file(), fd);
  EXPECT_OK(import(fd));
  EXPECT_THAT(findings_.rules(), testing::IsEmpty());
}

TEST_F(ExternalSession, AnExportedDescriptorThatIsImportedIsNoLeak) {
  const int fd = memory_file();
  export_as(fd);
  EXPECT_OK(import(fd));
  EXPECT_OK(run(calls::DestroyExternalMemory{kMemory}));
  EXPECT_THAT(leaks(), testing::IsEmpty());
}

TEST_F(ExternalSession, ARefusedImportLeavesTheDescriptorToTheProgram) {
  const int fd = memory_file();
  export_as(fd);
  EXPECT_CALL(mock_, ImportExternalMemory(_, _)).WillOnce(Return(CUDA_ERROR_INVALID_VALUE));
  EXPECT_EQ(import(fd), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(leaks(), testing::Contains("cuMemExportToShareableHandle-fd-closed"));
  EXPECT_EQ(close(fd), 0);
}

TEST_F(ExternalSession, ADescriptorOfAnotherKindIsCaught) {
  const int fd = memory_file();
  export_as(fd);
  CUmemoryPool pool = nullptr;
  calls::MemPoolImportFromShareableHandle call{};
  call.pool_out = &pool;
  call.handle = reinterpret_cast<void*>(static_cast<std::intptr_t>(fd));
  call.handleType = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  EXPECT_CALL(mock_, MemPoolImportFromShareableHandle).WillOnce(Return(CUDA_ERROR_NOT_SUPPORTED));
  run(call);
  CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc{};
  desc.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD;
  desc.handle.fd = fd;
  CUexternalSemaphore semaphore = nullptr;
  EXPECT_CALL(mock_, ImportExternalSemaphore).WillOnce(Return(CUDA_SUCCESS));
  run(calls::ImportExternalSemaphore{&semaphore, &desc});
  EXPECT_EQ(findings_.rules(),
            (std::vector<std::string>{"cuMemPoolImportFromShareableHandle-descriptor-kind",
                                      "cuImportExternalSemaphore-fd-kind"}));
  close(fd);
}

TEST_F(ExternalSession, ASizeThatIsNotTheAllocationsIsCaught) {
  const int fd = memory_file();
  export_as(fd);
  EXPECT_OK(import(fd, 4096));
  EXPECT_THAT(findings_.rules(), testing::ElementsAre("cuImportExternalMemory-size-exact"));
}

TEST_F(ExternalSession, ABufferIsNotUsedAfterTheDestroyAndStaysALeak) {
  EXPECT_OK(import(memory_file()));
  buffer();
  EXPECT_OK(run(calls::DestroyExternalMemory{kMemory}));
  EXPECT_OK(run(calls::MemsetD8{kBuffer + 16, 1, 16}));
  EXPECT_THAT(findings_.rules(), testing::ElementsAre("data-external-memory-alive"));
  EXPECT_THAT(leaks(), testing::ElementsAre("cuExternalMemoryGetMappedBuffer-freed"));
  EXPECT_CALL(mock_, MemFree(kBuffer))
      .WillOnce(Return(CUDA_ERROR_INVALID_CONTEXT))
      .WillOnce(Return(CUDA_SUCCESS))
      .WillOnce(Return(CUDA_ERROR_INVALID_VALUE))
      .WillOnce(Return(CUDA_SUCCESS));
  run(calls::MemFree{kBuffer});
  EXPECT_THAT(leaks(), testing::SizeIs(1)) << "a refused free frees nothing";
  run(calls::MemFree{kBuffer});
  EXPECT_THAT(leaks(), testing::IsEmpty());
  run(calls::MemFree{kBuffer});
  EXPECT_EQ(findings_.rules().back(), "cuMemFree-external-buffer-once");
  const std::size_t before = findings_.all.size();
  run(calls::MemFree{kBuffer});  // accepted: cuMemAlloc had given the address out in the meantime
  EXPECT_EQ(findings_.all.size(), before);
}

TEST_F(ExternalSession, DestroyingTwiceIsAnsweredByEnforcement) {
  Session enforcing{mock_.driver(), {.enforce = true, .emulated = true}, findings_};
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc{};
  desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
  desc.handle.fd = memory_file();
  desc.size = kGranule;
  CUexternalMemory memory = nullptr;
  const auto call = [&](const auto& c) {
    using CallStruct = std::decay_t<decltype(c)>;
    return enforcing.run(Driver::primary_symbol(CallStruct::kEntryPoint), c, CUVMM_CALLER);
  };
  ASSERT_OK(call(calls::ImportExternalMemory{&memory, &desc}));
  EXPECT_CALL(mock_, DestroyExternalMemory(kMemory)).WillOnce(Return(CUDA_SUCCESS));
  EXPECT_OK(call(calls::DestroyExternalMemory{memory}));
  EXPECT_EQ(call(calls::DestroyExternalMemory{memory}), CUDA_ERROR_INVALID_HANDLE)
      << "a real driver would have crashed";
  EXPECT_THAT(findings_.rules(), testing::ElementsAre("cuDestroyExternalMemory-once"));
}

}  // namespace
}  // namespace cuvmm::shim
