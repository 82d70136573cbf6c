// SPDX-License-Identifier: Apache-2.0
// Descriptors within one process.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emulator/testing.h"

namespace cuvmm::emulator::testing {
namespace {

class Share : public EmulatorTest {};

int export_fd(CUmemGenericAllocationHandle handle) {
  int fd = -1;
  EXPECT_OK(driver()(
      calls::MemExportToShareableHandle{&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0}));
  return fd;
}

CUresult import_fd(int fd, CUmemGenericAllocationHandle* handle) {
  return driver()(calls::MemImportFromShareableHandle{
      handle, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)),
      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR});
}

TEST_F(Share, EachExportIsADescriptorOfItsOwnThatExecCloses) {
  const CUmemGenericAllocationHandle handle = create(kGranule, properties(0, 1));
  const int one = export_fd(handle);
  const int two = export_fd(handle);
  EXPECT_NE(one, two);
  EXPECT_EQ(fcntl(one, F_GETFD), FD_CLOEXEC);
  close(one);
  close(two);
  EXPECT_OK(driver()(calls::MemRelease{handle}));
}

TEST_F(Share, AnImportKeepsTheMemoryAndNotTheDescriptor) {
  const Mapped m = mapped(kGranule, properties(0, 1));
  ASSERT_OK(driver()(calls::MemsetD8{m.address, 5, 16}));
  const int fd = export_fd(m.handle);
  CUmemGenericAllocationHandle handle = 0;
  ASSERT_OK(import_fd(fd, &handle));
  EXPECT_NE(handle, m.handle);
  EXPECT_GE(fcntl(fd, F_GETFD), 0) << "the import does not consume it";
  close(fd);
  end(m);
  const CUdeviceptr address = reserve(kGranule);
  ASSERT_OK(map(address, kGranule, handle));
  ASSERT_OK(set_access(address, kGranule, access()));
  char byte = 0;
  EXPECT_OK(driver()(calls::MemcpyDtoH{&byte, address, 1}));
  EXPECT_EQ(byte, 5);
  end({address, handle, kGranule});
}

TEST_F(Share, WhatIsNoExportIsUnknown) {
  CUmemGenericAllocationHandle handle = 42;
  EXPECT_EQ(import_fd(-1, &handle), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(import_fd(9999, &handle), CUDA_ERROR_UNKNOWN);
  const int null = open("/dev/null", O_RDWR);
  EXPECT_EQ(import_fd(null, &handle), CUDA_ERROR_UNKNOWN);
  close(null);
  const int memory = memfd_create("mine", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(memory, kGranule), 0);
  EXPECT_EQ(import_fd(memory, &handle), CUDA_ERROR_UNKNOWN);
  close(memory);
  EXPECT_EQ(handle, 42u);
}

TEST_F(Share, NoDescriptorLeaks) {
  // cuMemGetInfo ends the memory that descriptors of earlier tests held.
  std::size_t free = 0, total = 0;
  ASSERT_OK(driver()(calls::MemGetInfo{&free, &total}));
  const int before = dup(0);
  close(before);
  for (int i = 0; i < 20; ++i) {
    const Mapped m = mapped(kGranule, properties(0, 1));
    const int fd = export_fd(m.handle);
    CUmemGenericAllocationHandle handle = 0;
    ASSERT_OK(import_fd(fd, &handle));
    EXPECT_OK(driver()(calls::MemRelease{handle}));
    EXPECT_NE(import_fd(0, &handle), CUDA_SUCCESS);
    close(fd);
    end(m);
  }
  const int after = dup(0);
  close(after);
  EXPECT_EQ(after, before);
}

TEST_F(Share, ARangeHandleIsTheMemory) {
  const Mapped m = mapped();
  ASSERT_OK(driver()(calls::MemsetD8{m.address, 8, 64}));
  int fd = -1;
  ASSERT_OK(driver()(calls::MemGetHandleForAddressRange{&fd, m.address, kGranule,
                                                        CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0}));
  char* bytes =
      static_cast<char*>(mmap(nullptr, kGranule, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  ASSERT_NE(bytes, MAP_FAILED);
  EXPECT_EQ(bytes[63], 8) << "what was written before there was a descriptor";
  bytes[63] = 9;
  char byte = 0;
  EXPECT_OK(driver()(calls::MemcpyDtoH{&byte, m.address + 63, 1}));
  EXPECT_EQ(byte, 9);
  munmap(bytes, kGranule);
  close(fd);
  end(m);
}

// An H100 exports to the end of the block of 2 MiB that the memory was cut from, from a byte of the
// memory on.
TEST_F(Share, ARangeHandleOfPlainMemoryBeginsInTheMemory) {
  CUdeviceptr plain = 0;
  ASSERT_OK(driver()(calls::MemAlloc{&plain, 8192}));
  const auto answer = [&](std::size_t offset, std::size_t size) {
    int fd = -1;
    const CUresult result = driver()(calls::MemGetHandleForAddressRange{
        &fd, plain + offset, size, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0});
    if (result == CUDA_SUCCESS) close(fd);
    return result;
  };
  EXPECT_OK(answer(0, kGranule));
  EXPECT_OK(answer(4096, 65536));
  EXPECT_EQ(answer(4096, kGranule), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(answer(8192, 4096), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(driver()(calls::MemFree{plain}));
}

std::size_t memory_left() {
  std::size_t free = 0, total = 0;
  EXPECT_OK(driver()(calls::MemGetInfo{&free, &total}));
  return free;
}

TEST_F(Share, WhatAnExportedDescriptorKeepsIsUsed) {
  const std::size_t before = memory_left();
  const CUmemGenericAllocationHandle handle = create(kGranule, properties(0, 1));
  int one = -1;
  ASSERT_OK(driver()(calls::MemExportToShareableHandle{
      &one, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0}));
  const int two = dup(one);
  EXPECT_OK(driver()(calls::MemRelease{handle}));
  EXPECT_EQ(memory_left(), before - kGranule);
  close(one);
  EXPECT_EQ(memory_left(), before - kGranule) << "a copy is left";
  CUmemGenericAllocationHandle imported = 0;
  ASSERT_OK(driver()(calls::MemImportFromShareableHandle{
      &imported, reinterpret_cast<void*>(static_cast<std::intptr_t>(two)),
      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR}));
  close(two);
  EXPECT_EQ(memory_left(), before - kGranule) << "an import is left";
  EXPECT_OK(driver()(calls::MemRelease{imported}));
  EXPECT_EQ(memory_left(), before);
}

}  // namespace
}  // namespace cuvmm::emulator::testing
