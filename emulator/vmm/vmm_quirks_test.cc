// SPDX-License-Identifier: Apache-2.0
// The behaviours of the recorded H200 that the rules do not describe (rulebook/profile/quirk.h).
#include <unistd.h>

#include "emulator/testing.h"

namespace cuvmm::emulator::testing {
namespace {

using Quirks = EmulatorTest;

CUresult try_create(const CUmemAllocationProp& prop, std::size_t size = kGranule) {
  CUmemGenericAllocationHandle handle = 0;
  const CUresult result = driver()(calls::MemCreate{&handle, size, &prop, 0});
  if (result == CUDA_SUCCESS) driver()(calls::MemRelease{handle});
  return result;
}

CUresult range_handle(CUdeviceptr address, std::size_t size, unsigned long long flags = 0) {
  int fd = -1;
  const CUresult result = driver()(calls::MemGetHandleForAddressRange{
      &fd, address, size, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, flags});
  if (result == CUDA_SUCCESS) close(fd);
  return result;
}

unsigned long long access_of(CUdeviceptr address, int device = 0) {
  unsigned long long flags = 99;
  CUmemLocation location = access(device).location;
  EXPECT_OK(driver()(calls::MemGetAccess{&flags, &location, address}));
  return flags;
}

TEST_F(Quirks, HostMemoryIsPlain) {
  for (const auto type : {CU_MEM_LOCATION_TYPE_HOST, CU_MEM_LOCATION_TYPE_HOST_NUMA}) {
    CUmemAllocationProp prop = properties();
    prop.location.type = type;
    EXPECT_OK(try_create(prop));
    prop.allocFlags.compressionType = 1;
    EXPECT_EQ(try_create(prop), CUDA_ERROR_INVALID_VALUE);
    prop.allocFlags.compressionType = 0;
    prop.allocFlags.gpuDirectRDMACapable = 1;
    EXPECT_EQ(try_create(prop), CUDA_ERROR_INVALID_VALUE);
  }
}

TEST_F(Quirks, CompressedMemoryOfAnotherDeviceIsNoExternalMemory) {
  for (const unsigned char compressed : {0, 1}) {
    CUmemAllocationProp prop = properties(1);
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    prop.allocFlags.compressionType = compressed;
    const auto handle = create(kGranule, prop);
    int fd = -1;
    ASSERT_OK(driver()(calls::MemExportToShareableHandle{
        &fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0}));
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc{};
    desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    desc.handle.fd = fd;
    desc.size = kGranule;
    CUexternalMemory object = nullptr;
    EXPECT_EQ(driver()(calls::ImportExternalMemory{&object, &desc}),
              compressed ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS);
    if (!compressed) {
      EXPECT_OK(driver()(calls::DestroyExternalMemory{object}));
    }
    EXPECT_OK(driver()(calls::MemRelease{handle}));
  }
}

TEST_F(Quirks, PlainMemoryIsFilledByItsDeviceAndByPeers) {
  CUcontext contexts[2];
  for (const int device : {0, 1}) {
    ASSERT_OK(driver()(calls::DevicePrimaryCtxRetain{&contexts[device], device}));
  }
  ASSERT_OK(driver()(calls::CtxSetCurrent{contexts[1]}));
  CUdeviceptr memory = 0;
  ASSERT_OK(driver()(calls::MemAlloc{&memory, 4096}));
  CUstream stream = nullptr;
  ASSERT_OK(symbol<CUresult(CUstream*, unsigned)>("cuStreamCreate")(&stream, 0));
  ASSERT_OK(driver()(calls::CtxSetCurrent{contexts[0]}));
  const calls::MemsetD8 fill{memory, 7, 16};
  EXPECT_EQ(driver()(fill), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(driver()(calls::MemsetD8Async{memory, 7, 16, stream})) << "the stream's context fills";
  char bytes[16];
  EXPECT_OK(driver()(calls::MemcpyDtoH{bytes, memory, 16}));
  ASSERT_OK(driver()(calls::CtxEnablePeerAccess{contexts[1], 0}));
  EXPECT_OK(driver()(fill));
  ASSERT_OK(symbol<CUresult(CUcontext)>("cuCtxDisablePeerAccess")(contexts[1]));
  EXPECT_EQ(driver()(fill), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(driver()(calls::MemFree{memory}));
  EXPECT_OK(symbol<CUresult(CUstream)>("cuStreamDestroy_v2")(stream));
  for (const int device : {0, 1}) {
    EXPECT_OK(driver()(calls::DevicePrimaryCtxRelease{device}));
  }
}

TEST_F(Quirks, TilePoolMemoryIsNeitherSharedNorMapped) {
  CUmemAllocationProp prop = properties();
  prop.allocFlags.usage = 255;
  const auto handle = create(kGranule, prop);
  const CUdeviceptr address = reserve(kGranule);
  EXPECT_EQ(map(address, kGranule, handle), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver()(calls::MemMap{address, kGranule, kGranule, handle, 0}),
            CUDA_ERROR_INVALID_VALUE)
      << "before the offset, which is NOT_SUPPORTED";
  EXPECT_OK(driver()(calls::MemRelease{handle}));
  EXPECT_OK(driver()(calls::MemAddressFree{address, kGranule}));
  EXPECT_EQ(try_create(prop, std::size_t{1} << 40), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(try_create(prop, (std::size_t{1} << 45) - kGranule), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(try_create(prop, std::size_t{1} << 45), CUDA_ERROR_OUT_OF_MEMORY);
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  for (const unsigned short usage : {1, 3, 129, 255}) {
    prop.allocFlags.usage = usage;
    EXPECT_EQ(try_create(prop), CUDA_ERROR_INVALID_VALUE) << usage;
  }
  for (const unsigned short usage : {2, 128, 254}) {
    prop.allocFlags.usage = usage;
    EXPECT_OK(try_create(prop)) << usage;
  }
}

TEST_F(Quirks, HostMemoryIsReportedAsThatOfANode) {
  CUmemAllocationProp prop = properties();
  prop.location.type = CU_MEM_LOCATION_TYPE_HOST;
  const auto handle = create(kGranule, prop);
  CUmemAllocationProp read_back{};
  EXPECT_OK(driver()(calls::MemGetAllocationPropertiesFromHandle{&read_back, handle}));
  EXPECT_EQ(read_back.location.type, CU_MEM_LOCATION_TYPE_HOST_NUMA);
  EXPECT_OK(driver()(calls::MemRelease{handle}));
}

TEST_F(Quirks, ARefusedHostLocationComesAfterTheDescriptorsBeforeIt) {
  const Mapped m = mapped();
  const CUmemAccessDesc both[] = {access(1, CU_MEM_ACCESS_FLAGS_PROT_READ),
                                  access(0, 3, CU_MEM_LOCATION_TYPE_HOST)};
  EXPECT_EQ(driver()(calls::MemSetAccess{m.address, m.size, both, 2}), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(access_of(m.address, 1), 1u);
  EXPECT_OK(set_access(m.address, m.size, access(0, 0, CU_MEM_LOCATION_TYPE_HOST)))
      << "to take away what the host does not have is no mistake";
  end(m);
}

TEST_F(Quirks, AccessIsSetUpToTheFirstHole) {
  const CUdeviceptr address = reserve(3 * kGranule);
  const auto handle = create(kGranule, properties());
  ASSERT_OK(map(address, kGranule, handle));
  ASSERT_OK(map(address + 2 * kGranule, kGranule, handle));
  EXPECT_OK(set_access(address, 3 * kGranule, access()));
  EXPECT_EQ(access_of(address), 3u);
  EXPECT_EQ(access_of(address + 2 * kGranule), 0u);
  EXPECT_OK(driver()(calls::MemUnmap{address, 3 * kGranule}));
  EXPECT_OK(driver()(calls::MemRelease{handle}));
  EXPECT_OK(driver()(calls::MemAddressFree{address, 3 * kGranule}));
}

TEST_F(Quirks, ADmaBufIsOfPlainDeviceMemoryAndNeedsAContext) {
  const Mapped m = mapped();
  EXPECT_OK(range_handle(m.address, m.size));
  EXPECT_EQ(range_handle(m.address, m.size, 1), CUDA_ERROR_NOT_SUPPORTED);
  ASSERT_OK(driver()(calls::CtxSetCurrent{nullptr}));
  EXPECT_EQ(range_handle(m.address, m.size), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(range_handle(m.address + 1, m.size), CUDA_ERROR_INVALID_VALUE);
  use_device(0);
  end(m);

  CUmemAllocationProp prop = properties();
  prop.allocFlags.compressionType = 1;
  const Mapped compressed = mapped(kGranule, prop);
  EXPECT_EQ(range_handle(compressed.address, kGranule), CUDA_ERROR_UNKNOWN);
  end(compressed);
  prop = properties();
  prop.location.type = CU_MEM_LOCATION_TYPE_HOST;
  const Mapped host = mapped(kGranule, prop);
  EXPECT_EQ(range_handle(host.address, kGranule), CUDA_ERROR_INVALID_VALUE);
  end(host);
}

TEST_F(Quirks, ADmaBufMaySpanMemoryOfDifferentProperties) {
  const CUdeviceptr address = reserve(2 * kGranule);
  const auto plain = create(kGranule, properties());
  const auto shared = create(kGranule, properties(0, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  const auto other = create(kGranule, properties(1));
  ASSERT_OK(map(address, kGranule, plain));
  ASSERT_OK(map(address + kGranule, kGranule, shared));
  EXPECT_OK(range_handle(address, 2 * kGranule));
  ASSERT_OK(driver()(calls::MemUnmap{address + kGranule, kGranule}));
  ASSERT_OK(map(address + kGranule, kGranule, other));
  EXPECT_EQ(range_handle(address, 2 * kGranule), CUDA_ERROR_INVALID_VALUE) << "on two devices";
  EXPECT_OK(driver()(calls::MemUnmap{address, 2 * kGranule}));
  for (const auto handle : {plain, shared, other}) driver()(calls::MemRelease{handle});
  EXPECT_OK(driver()(calls::MemAddressFree{address, 2 * kGranule}));
}

TEST_F(Quirks, ACopyOfHostMemoryIsTheCpusWorkWhereTheHostHasAccess) {
  CUmemAllocationProp prop = properties();
  prop.location.type = CU_MEM_LOCATION_TYPE_HOST;
  const CUdeviceptr address = reserve(kGranule);
  const auto handle = create(kGranule, prop);
  ASSERT_OK(map(address, kGranule, handle));
  ASSERT_OK(set_access(address, kGranule, access(0, 3, CU_MEM_LOCATION_TYPE_HOST)));
  const char byte = 5;
  EXPECT_OK(driver()(calls::MemcpyHtoD{address, &byte, 1}));
  EXPECT_EQ(driver()(calls::MemsetD8{address, 1, 1}), CUDA_ERROR_INVALID_VALUE)
      << "a fill runs on the device";
  EXPECT_OK(driver()(calls::MemUnmap{address, kGranule}));
  EXPECT_OK(driver()(calls::MemRelease{handle}));
  EXPECT_OK(driver()(calls::MemAddressFree{address, kGranule}));
}

}  // namespace
}  // namespace cuvmm::emulator::testing
