// SPDX-License-Identifier: Apache-2.0
// External memory: an exported allocation imported under its other name.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emulator/testing.h"

namespace cuvmm::emulator::testing {
namespace {

class ExternalMemory : public EmulatorTest {
 protected:
  /// A descriptor of an allocation whose handle is released at once: the descriptor keeps the
  /// memory alive.
  static int exported(std::size_t size, int device = 0) {
    const CUmemGenericAllocationHandle handle = create(size, properties(device, 1));
    const int fd = export_fd(handle);
    EXPECT_OK(driver()(calls::MemRelease{handle}));
    return fd;
  }
  static int export_fd(CUmemGenericAllocationHandle handle) {
    int fd = -1;
    EXPECT_OK(driver()(calls::MemExportToShareableHandle{
        &fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0}));
    return fd;
  }
  static CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc_of(int fd, std::size_t size) {
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc{};
    desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    desc.handle.fd = fd;
    desc.size = size;
    return desc;
  }
  static CUresult import_as(const CUDA_EXTERNAL_MEMORY_HANDLE_DESC& desc, CUexternalMemory* out) {
    return driver()(calls::ImportExternalMemory{out, &desc});
  }
  static CUexternalMemory import(std::size_t size) {
    CUexternalMemory memory = nullptr;
    EXPECT_OK(import_as(desc_of(exported(size), size), &memory));
    return memory;
  }
  static CUresult map_buffer(CUexternalMemory memory, std::size_t offset, std::size_t size,
                             CUdeviceptr* out) {
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC desc{};
    desc.offset = offset;
    desc.size = size;
    return driver()(calls::ExternalMemoryGetMappedBuffer{out, memory, &desc});
  }
  static CUdeviceptr buffer(CUexternalMemory memory, std::size_t offset, std::size_t size) {
    CUdeviceptr address = 0;
    EXPECT_OK(map_buffer(memory, offset, size, &address));
    return address;
  }
  static void free(CUdeviceptr address) { EXPECT_OK(driver()(calls::MemFree{address})); }
  static void destroy(CUexternalMemory memory) {
    EXPECT_OK(driver()(calls::DestroyExternalMemory{memory}));
  }
  static int byte_at(CUdeviceptr address) {
    unsigned char byte = 0;
    EXPECT_OK(driver()(calls::MemcpyDtoH{&byte, address, 1}));
    return byte;
  }
};

TEST_F(ExternalMemory, ShowsTheExportedAllocation) {
  const Mapped m = mapped(2 * kGranule, properties(0, 1));
  ASSERT_OK(driver()(calls::MemsetD8{m.address, 5, 2 * kGranule}));
  const int fd = export_fd(m.handle);
  CUexternalMemory memory = nullptr;
  ASSERT_OK(import_as(desc_of(fd, 2 * kGranule), &memory));
  const CUdeviceptr address = buffer(memory, kGranule, kGranule);
  EXPECT_EQ(byte_at(address), 5);
  ASSERT_OK(driver()(calls::MemsetD8{address, 6, 16}));
  EXPECT_EQ(byte_at(m.address + kGranule), 6);
  EXPECT_EQ(byte_at(m.address + kGranule - 1), 5);
  free(address);
  destroy(memory);
  end(m);
}

TEST_F(ExternalMemory, TheDescriptorIsTheDriversAfterASuccessAlone) {
  const int fd = exported(kGranule);
  CUexternalMemory memory = nullptr;
  auto wrong = desc_of(fd, kGranule);
  wrong.flags = 2;
  EXPECT_EQ(import_as(wrong, &memory), CUDA_ERROR_INVALID_VALUE);
  EXPECT_GE(fcntl(fd, F_GETFD), 0) << "a refused import leaves it alone";
  EXPECT_EQ(memory, nullptr);
  ASSERT_OK(import_as(desc_of(fd, kGranule), &memory));
  EXPECT_EQ(fcntl(fd, F_GETFD), -1) << "it is closed";
  CUexternalMemory again = nullptr;
  EXPECT_EQ(import_as(desc_of(fd, kGranule), &again), CUDA_ERROR_UNKNOWN);
  destroy(memory);
}

TEST_F(ExternalMemory, OverlappingBuffersAlias) {
  const CUexternalMemory memory = import(2 * kGranule);
  const CUdeviceptr whole = buffer(memory, 0, 2 * kGranule);
  const CUdeviceptr again = buffer(memory, 0, 2 * kGranule);
  const CUdeviceptr part = buffer(memory, kGranule + 1, 4096);
  EXPECT_NE(whole, again);
  EXPECT_EQ(part % kGranule, 1u);
  ASSERT_OK(driver()(calls::MemsetD8{whole, 3, 2 * kGranule}));
  ASSERT_OK(driver()(calls::MemsetD8{part, 7, 1}));
  EXPECT_EQ(byte_at(again + kGranule), 3);
  EXPECT_EQ(byte_at(again + kGranule + 1), 7);
  EXPECT_EQ(byte_at(again + kGranule + 2), 3);
  for (CUdeviceptr address : {whole, again, part}) free(address);
  destroy(memory);
}

TEST_F(ExternalMemory, NoByteOutsideIsShown) {
  const CUexternalMemory memory = import(2 * kGranule);
  CUdeviceptr address = 0;
  EXPECT_EQ(map_buffer(memory, kGranule, 2 * kGranule, &address), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(map_buffer(memory, ~(kGranule - 1), kGranule, &address), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(map_buffer(memory, 0, 0, &address), CUDA_ERROR_INVALID_VALUE);
  const CUdeviceptr part = buffer(memory, 0, 4096);
  EXPECT_EQ(driver()(calls::MemsetD8{part + 4095, 1, 2}), CUDA_ERROR_INVALID_VALUE);
  free(part);
  destroy(memory);
  CUexternalMemory large = nullptr;
  ASSERT_OK(import_as(desc_of(exported(kGranule), 4 * kGranule), &large));
  EXPECT_EQ(map_buffer(large, 0, 4 * kGranule, &address), CUDA_ERROR_INVALID_VALUE);
  destroy(large);
  CUexternalMemory small = nullptr;
  ASSERT_OK(import_as(desc_of(exported(2 * kGranule), 4096), &small));
  EXPECT_EQ(map_buffer(small, 0, 2 * kGranule, &address), CUDA_ERROR_INVALID_VALUE);
  free(buffer(small, 0, 4096));
  destroy(small);
}

TEST_F(ExternalMemory, ABufferOutlivesItsMemoryAndIsFreedOnce) {
  const CUexternalMemory memory = import(kGranule);
  const CUdeviceptr address = buffer(memory, 0, kGranule);
  destroy(memory);
  EXPECT_OK(driver()(calls::MemsetD8{address, 1, 16})) << "as an H200 does";
  free(address);
  EXPECT_EQ(driver()(calls::MemFree{address}), CUDA_ERROR_INVALID_VALUE);
  // Plain memory that gets the buffer's address is a new object.
  CUdeviceptr plain = 0;
  ASSERT_OK(driver()(calls::MemAlloc{&plain, kGranule}));
  free(plain);
}

TEST_F(ExternalMemory, StaleAndWildObjectsAreRefused) {
  const CUexternalMemory memory = import(kGranule);
  destroy(memory);
  CUdeviceptr address = 0;
  EXPECT_EQ(map_buffer(memory, 0, 1, &address), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver()(calls::DestroyExternalMemory{memory}), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver()(calls::DestroyExternalMemory{nullptr}), CUDA_ERROR_INVALID_VALUE);
  const auto wild = reinterpret_cast<CUexternalMemory>(std::uintptr_t{0x1234});
  EXPECT_EQ(driver()(calls::DestroyExternalMemory{wild}), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(ExternalMemory, WhatIsNoExportIsUnknown) {
  CUexternalMemory memory = nullptr;
  EXPECT_EQ(import_as(desc_of(-1, kGranule), &memory), CUDA_ERROR_UNKNOWN);
  const int file = memfd_create("mine", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(file, kGranule), 0);
  EXPECT_EQ(import_as(desc_of(file, kGranule), &memory), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(fcntl(file, F_GETFD), -1) << "a driver closes what it refuses";
}

TEST_F(ExternalMemory, IsNoLegacyIpcMemoryAndNoVmmMapping) {
  const CUexternalMemory memory = import(kGranule);
  const CUdeviceptr address = buffer(memory, 0, kGranule);
  int capable = 1;
  ASSERT_OK(driver()(calls::PointerGetAttribute{
      &capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, address}));
  EXPECT_EQ(capable, 0);
  EXPECT_EQ(driver()(calls::MemUnmap{address, kGranule}), CUDA_ERROR_INVALID_VALUE);
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(driver()(calls::MemRetainAllocationHandle{&handle, reinterpret_cast<void*>(address)}),
            CUDA_ERROR_INVALID_VALUE);
  free(address);
  destroy(memory);
}

TEST_F(ExternalMemory, ArraysAreRefused) {
  const CUexternalMemory memory = import(kGranule);
  CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC desc{};
  desc.numLevels = 1;
  CUmipmappedArray array = nullptr;
  EXPECT_EQ(driver()(calls::ExternalMemoryGetMappedMipmappedArray{&array, memory, &desc}),
            CUDA_ERROR_NOT_SUPPORTED);
  desc.numLevels = 0;
  EXPECT_EQ(driver()(calls::ExternalMemoryGetMappedMipmappedArray{&array, memory, &desc}),
            CUDA_ERROR_INVALID_VALUE);
  destroy(memory);
}

TEST_F(ExternalMemory, AContextTakesItsBuffersWithIt) {
  use_device(2);
  const CUexternalMemory memory = import(kGranule);
  const CUdeviceptr address = buffer(memory, 0, kGranule);
  destroy(memory);
  auto* reset = symbol<CUresult(CUdevice)>("cuDevicePrimaryCtxReset_v2");
  ASSERT_OK(reset(2));
  use_device(0);
  EXPECT_EQ(driver()(calls::MemFree{address}), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr plain = 0;
  ASSERT_OK(driver()(calls::MemAlloc{&plain, kGranule}));
  EXPECT_OK(driver()(calls::MemsetD8{plain, 1, 16}));
  free(plain);
}

TEST_F(ExternalMemory, NoDescriptorAndNoAddressLeaks) {
  // cuMemGetInfo ends the memory that descriptors of earlier tests held.
  std::size_t left = 0, total = 0;
  ASSERT_OK(driver()(calls::MemGetInfo{&left, &total}));
  const int before = dup(0);
  close(before);
  CUdeviceptr first = 0;
  for (int i = 0; i < 20; ++i) {
    const CUexternalMemory memory = import(2 * kGranule);
    const CUdeviceptr address = buffer(memory, kGranule + 17, 100);
    if (i == 0) first = address;
    EXPECT_EQ(address, first) << "the address space is given back whole";
    EXPECT_EQ(byte_at(address), 0);
    free(address);
    destroy(memory);
  }
  const int after = dup(0);
  close(after);
  EXPECT_EQ(after, before);
}

}  // namespace
}  // namespace cuvmm::emulator::testing
