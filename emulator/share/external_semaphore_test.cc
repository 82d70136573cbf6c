// SPDX-License-Identifier: Apache-2.0
// External semaphores from descriptors that the test creates.
#include "emulator/machine/semaphore.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "emulator/testing.h"

namespace cuvmm::emulator::testing {
namespace {

class ExternalSemaphore : public EmulatorTest {
 protected:
  static CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc_of(int fd, SemaphoreKind kind) {
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc{};
    desc.type = static_cast<CUexternalSemaphoreHandleType>(kind);
    desc.handle.fd = fd;
    return desc;
  }
  static CUresult import_as(const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC& desc,
                            CUexternalSemaphore* out) {
    return driver()(calls::ImportExternalSemaphore{out, &desc});
  }
  static CUexternalSemaphore import(int fd, SemaphoreKind kind) {
    CUexternalSemaphore semaphore = nullptr;
    EXPECT_OK(import_as(desc_of(fd, kind), &semaphore));
    return semaphore;
  }
  static CUresult signal(CUexternalSemaphore semaphore, std::uint64_t value = 0,
                         CUstream stream = nullptr) {
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS params{};
    params.params.fence.value = value;
    return driver()(calls::SignalExternalSemaphoresAsync{&semaphore, &params, 1, stream});
  }
  static CUresult queue_wait(CUexternalSemaphore semaphore, std::uint64_t value = 0) {
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS params{};
    params.params.fence.value = value;
    return driver()(calls::WaitExternalSemaphoresAsync{&semaphore, &params, 1, nullptr});
  }
  static CUresult wait(CUexternalSemaphore semaphore, std::uint64_t value = 0) {
    const CUresult queued = queue_wait(semaphore, value);
    return queued == CUDA_SUCCESS ? driver()(calls::StreamSynchronize{nullptr}) : queued;
  }
  static void destroy(CUexternalSemaphore semaphore) {
    EXPECT_OK(driver()(calls::DestroyExternalSemaphore{semaphore}));
  }
};

TEST_F(ExternalSemaphore, ATimelineIsSharedWithWhoHoldsTheDescriptor) {
  const int fd = create_semaphore(SemaphoreKind::kTimeline, 3);
  const int copy = dup(fd);
  const CUexternalSemaphore semaphore = import(fd, SemaphoreKind::kTimeline);
  EXPECT_EQ(fcntl(fd, F_GETFD), -1) << "the descriptor is the driver's";
  EXPECT_OK(wait(semaphore, 3));
  EXPECT_OK(signal(semaphore, 5));
  const auto other = Semaphore::open(copy, SemaphoreKind::kTimeline);
  ASSERT_TRUE(other);
  EXPECT_TRUE(other->wait(5, std::chrono::milliseconds(0)));
  EXPECT_FALSE(other->wait(6, std::chrono::milliseconds(1)));
  other->signal(6);
  EXPECT_OK(wait(semaphore, 6));
  close(copy);
  destroy(semaphore);
}

TEST_F(ExternalSemaphore, AWaitLetsOtherThreadsCall) {
  const CUexternalSemaphore semaphore =
      import(create_semaphore(SemaphoreKind::kTimeline), SemaphoreKind::kTimeline);
  ASSERT_OK(queue_wait(semaphore, 1));
  std::thread signaller([&] {
    CUstream apart = nullptr;
    driver()(calls::CtxSetCurrent{context_});
    EXPECT_OK(driver()(calls::StreamCreate{&apart, CU_STREAM_NON_BLOCKING}));
    EXPECT_OK(signal(semaphore, 1, apart));
    EXPECT_OK(driver()(calls::StreamDestroy{apart}));
  });
  EXPECT_OK(driver()(calls::StreamSynchronize{nullptr}));
  signaller.join();
  destroy(semaphore);
}

TEST_F(ExternalSemaphore, ABinaryOneIsWaitedForOncePerSignal) {
  const int fd = create_semaphore(SemaphoreKind::kBinary);
  const int copy = dup(fd);
  const CUexternalSemaphore semaphore = import(fd, SemaphoreKind::kBinary);
  const auto other = Semaphore::open(copy, SemaphoreKind::kBinary);
  ASSERT_TRUE(other);
  EXPECT_FALSE(other->wait(0, std::chrono::milliseconds(1)));
  EXPECT_OK(signal(semaphore));
  EXPECT_OK(wait(semaphore));
  EXPECT_FALSE(other->wait(0, std::chrono::milliseconds(1)));
  close(copy);
  destroy(semaphore);
}

TEST_F(ExternalSemaphore, AnotherProcessSignals) {
  const int fd = create_semaphore(SemaphoreKind::kTimeline);
  const int copy = dup(fd);
  const CUexternalSemaphore semaphore = import(fd, SemaphoreKind::kTimeline);
  const pid_t child = fork();
  if (child == 0) {
    const auto other = Semaphore::open(copy, SemaphoreKind::kTimeline);
    if (other) other->signal(9);
    _exit(other ? 0 : 1);
  }
  EXPECT_OK(wait(semaphore, 9));
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  close(copy);
  destroy(semaphore);
}

TEST_F(ExternalSemaphore, WhatIsNoSemaphoreIsRefusedAndStaysThePrograms) {
  CUexternalSemaphore semaphore = nullptr;
  const int timeline = create_semaphore(SemaphoreKind::kTimeline);
  const int file = memfd_create("mine", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(file, 4096), 0);
  for (const int fd : {-1, timeline, file}) {
    EXPECT_EQ(import_as(desc_of(fd, SemaphoreKind::kBinary), &semaphore), CUDA_ERROR_UNKNOWN);
    if (fd >= 0) {
      EXPECT_GE(fcntl(fd, F_GETFD), 0);
      close(fd);
    }
  }
  auto windows = desc_of(0, SemaphoreKind::kBinary);
  windows.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32;
  EXPECT_EQ(import_as(windows, &semaphore), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(semaphore, nullptr);
}

// An H200 accepts a descriptor of memory (sem/import-memory); the result is a semaphore that no
// other process has.
TEST_F(ExternalSemaphore, MemoryPassesForOne) {
  const CUmemGenericAllocationHandle handle = create(kGranule, properties(0, 1));
  int memory = -1;
  ASSERT_OK(driver()(calls::MemExportToShareableHandle{
      &memory, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0}));
  CUexternalSemaphore semaphore = nullptr;
  ASSERT_OK(import_as(desc_of(memory, SemaphoreKind::kBinary), &semaphore));
  EXPECT_EQ(fcntl(memory, F_GETFD), -1) << "the descriptor is the driver's now";
  destroy(semaphore);
  EXPECT_OK(driver()(calls::MemRelease{handle}));
}

TEST_F(ExternalSemaphore, StaleOnesAreRefused) {
  const CUexternalSemaphore semaphore =
      import(create_semaphore(SemaphoreKind::kBinary), SemaphoreKind::kBinary);
  destroy(semaphore);
  EXPECT_EQ(signal(semaphore), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(wait(semaphore), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver()(calls::DestroyExternalSemaphore{semaphore}), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_OK(driver()(calls::SignalExternalSemaphoresAsync{nullptr, nullptr, 0, nullptr}));
}

}  // namespace
}  // namespace cuvmm::emulator::testing
