// SPDX-License-Identifier: Apache-2.0
// Multicast within one process.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "emulator/testing.h"

namespace cuvmm::emulator::testing {
namespace {

using Handle = CUmemGenericAllocationHandle;

class Multicast : public EmulatorTest {};

Handle object(unsigned devices, std::size_t size = 2 * kGranule, unsigned types = 0) {
  CUmulticastObjectProp prop{};
  prop.numDevices = devices;
  prop.size = size;
  prop.handleTypes = types;
  Handle handle = 0;
  EXPECT_OK(driver()(calls::MulticastCreate{&handle, &prop}));
  return handle;
}
CUresult add(Handle handle, int device) {
  return driver()(calls::MulticastAddDevice{handle, device});
}
CUresult bind(Handle handle, std::size_t offset, Handle memory, std::size_t size = kGranule,
              std::size_t memory_offset = 0) {
  return driver()(calls::MulticastBindMem{handle, offset, memory, memory_offset, size, 0});
}
CUresult unbind(Handle handle, int device, std::size_t offset, std::size_t size = kGranule) {
  return driver()(calls::MulticastUnbind{handle, device, offset, size});
}
CUdeviceptr show(Handle handle, std::size_t size, int device = 0) {
  const CUdeviceptr address = reserve(size);
  EXPECT_OK(map(address, size, handle));
  EXPECT_OK(set_access(address, size, access(device)));
  return address;
}
Mapped memory_of(int device, std::size_t size = kGranule) {
  Mapped m{reserve(size), create(size, properties(device)), size};
  EXPECT_OK(map(m.address, size, m.handle));
  EXPECT_OK(set_access(m.address, size, access(0)));
  return m;
}
int byte_at(CUdeviceptr address) {
  unsigned char byte = 0xee;
  EXPECT_OK(driver()(calls::MemcpyDtoH{&byte, address, 1}));
  return byte;
}
CUresult fill(CUdeviceptr address, unsigned char value, std::size_t size) {
  return driver()(calls::MemsetD8{address, value, size});
}

/// Three devices, each with a granule bound at the start, and the object mapped for device 0.
struct Ready {
  Handle handle = object(3);
  Mapped members[3] = {memory_of(0), memory_of(1), memory_of(2)};
  CUdeviceptr address = 0;
  Ready() {
    for (int device : {0, 1, 2}) EXPECT_OK(add(handle, device));
    for (const Mapped& m : members) EXPECT_OK(bind(handle, 0, m.handle));
    address = show(handle, 2 * kGranule);
  }
  void end_object() { testing::end({address, handle, 2 * kGranule}); }
  ~Ready() {
    for (const Mapped& m : members) testing::end(m);
  }
};

TEST_F(Multicast, TheFabricOfSeveralDevicesSupportsIt) {
  int supported = 0;
  EXPECT_OK(
      driver()(calls::DeviceGetAttribute{&supported, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 3}));
  EXPECT_EQ(supported, 1);
  std::size_t granularity = 0;
  CUmulticastObjectProp prop{};
  prop.numDevices = 8;
  prop.size = 24576;
  for (const auto option :
       {CU_MULTICAST_GRANULARITY_MINIMUM, CU_MULTICAST_GRANULARITY_RECOMMENDED}) {
    EXPECT_OK(driver()(calls::MulticastGetGranularity{&granularity, &prop, option}));
    EXPECT_EQ(granularity, kGranule);
  }
}

TEST_F(Multicast, AWriteReachesEveryBoundMember) {
  Ready ready;
  EXPECT_OK(fill(ready.address, 7, 100));
  EXPECT_OK(driver()(calls::MemsetD32{ready.address + 100, 0x04030201, 2}));
  const char text[] = "copied";
  EXPECT_OK(driver()(calls::MemcpyHtoD{ready.address + kGranule - 3, text, 3}));
  for (const Mapped& m : ready.members) {
    EXPECT_EQ(byte_at(m.address), 7);
    EXPECT_EQ(byte_at(m.address + 99), 7);
    EXPECT_EQ(byte_at(m.address + 100), 1);
    EXPECT_EQ(byte_at(m.address + 107), 4);
    EXPECT_EQ(byte_at(m.address + 108), 0);
    EXPECT_EQ(byte_at(m.address + kGranule - 1), 'p');
  }
  // Copies from one device's memory to the memory of all.
  EXPECT_OK(fill(ready.members[1].address, 9, 4));
  EXPECT_OK(driver()(calls::MemcpyDtoD{ready.address + 4096, ready.members[1].address, 4}));
  EXPECT_EQ(byte_at(ready.members[2].address + 4099), 9);
  ready.end_object();
}

TEST_F(Multicast, ReadsAndUnboundPagesAreRefused) {
  Ready ready;
  char byte = 0;
  EXPECT_EQ(driver()(calls::MemcpyDtoH{&byte, ready.address, 1}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(fill(ready.address + kGranule, 1, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(fill(ready.address + kGranule - 1, 1, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(byte_at(ready.members[0].address + kGranule - 1), 0) << "nothing of it is written";
  EXPECT_OK(unbind(ready.handle, 1, 0));
  EXPECT_EQ(fill(ready.address, 1, 1), CUDA_ERROR_INVALID_VALUE);
  ready.end_object();
}

TEST_F(Multicast, OtherMemoryMayBeBoundWhereSomeWasUnbound) {
  Ready ready;
  const Mapped next = memory_of(1, 2 * kGranule);
  EXPECT_EQ(bind(ready.handle, 0, next.handle, kGranule, kGranule), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(unbind(ready.handle, 1, 0));
  EXPECT_OK(bind(ready.handle, 0, next.handle, kGranule, kGranule));
  EXPECT_OK(fill(ready.address, 5, 1));
  EXPECT_EQ(byte_at(ready.members[1].address), 0);
  EXPECT_EQ(byte_at(next.address), 0);
  EXPECT_EQ(byte_at(next.address + kGranule), 5);
  end(next);
  EXPECT_EQ(unbind(ready.handle, 1, 0), CUDA_ERROR_INVALID_VALUE) << "it went with the memory";
  ready.end_object();
}

TEST_F(Multicast, BindsByAddressAndByNamedDevice) {
  const Handle handle = object(2);
  const Mapped one = memory_of(0, 2 * kGranule), two = memory_of(1);
  EXPECT_OK(add(handle, 0));
  EXPECT_OK(add(handle, 1));
  EXPECT_OK(driver()(calls::MulticastBindAddr{handle, 0, one.address + kGranule, kGranule, 0}));
  EXPECT_EQ(driver()(calls::MulticastBindAddr_v2{handle, 0, 0, two.address, kGranule, 0}),
            CUDA_ERROR_INVALID_DEVICE);
  EXPECT_OK(driver()(calls::MulticastBindMem_v2{handle, 1, 0, two.handle, 0, kGranule, 0}));
  CUmemAllocationProp host = properties();
  host.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
  const Handle numa = create(kGranule, host);
  EXPECT_EQ(bind(handle, kGranule, numa), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_OK(driver()(calls::MulticastBindMem_v2{handle, 1, kGranule, numa, 0, kGranule, 0}));
  const CUdeviceptr address = show(handle, kGranule);
  EXPECT_OK(fill(address, 3, 1));
  EXPECT_EQ(byte_at(one.address), 0);
  EXPECT_EQ(byte_at(one.address + kGranule), 3);
  EXPECT_EQ(byte_at(two.address), 3);
  end({address, handle, kGranule});
  EXPECT_OK(driver()(calls::MemRelease{numa}));
  end(one);
  end(two);
}

TEST_F(Multicast, ABindWaitsForTheTeamWithoutHoldingUpOtherThreads) {
  const Handle handle = object(2);
  const Handle memory = create(kGranule, properties(0));
  EXPECT_OK(add(handle, 0));
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const auto start = std::chrono::steady_clock::now();
    end(mapped());  // other work still succeeds
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
    EXPECT_OK(add(handle, 1));
  });
  EXPECT_OK(bind(handle, 0, memory));
  other.join();
  EXPECT_OK(driver()(calls::MemRelease{handle}));
  EXPECT_OK(driver()(calls::MemRelease{memory}));
}

TEST_F(Multicast, AnIncompleteTeamEndsAsNotReadyAndAWrongCallAtOnce) {
  const Handle handle = object(2);
  const Handle memory = create(kGranule, properties(0));
  EXPECT_OK(add(handle, 0));
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(bind(handle, 1, memory), CUDA_ERROR_INVALID_VALUE);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(1500));
  EXPECT_EQ(bind(handle, 0, memory), CUDA_ERROR_SYSTEM_NOT_READY);
  EXPECT_GT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(1500));
  EXPECT_OK(driver()(calls::MemRelease{handle}));
  EXPECT_OK(driver()(calls::MemRelease{memory}));
}

TEST_F(Multicast, AnObjectThatEndsWhileABindWaitsIsGone) {
  const Handle handle = object(2);
  const Handle memory = create(kGranule, properties(0));
  EXPECT_OK(add(handle, 0));
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_OK(driver()(calls::MemRelease{handle}));
  });
  EXPECT_EQ(bind(handle, 0, memory), CUDA_ERROR_INVALID_VALUE);
  other.join();
  EXPECT_OK(driver()(calls::MemRelease{memory}));
}

TEST_F(Multicast, AnImportInTheSameProcessIsTheSameTeam) {
  const Handle handle = object(2, 2 * kGranule, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  int fd = -1;
  ASSERT_OK(driver()(
      calls::MemExportToShareableHandle{&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0}));
  Handle imported = 0;
  ASSERT_OK(driver()(calls::MemImportFromShareableHandle{
      &imported, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)),
      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR}));
  close(fd);
  EXPECT_NE(imported, handle);
  EXPECT_OK(add(handle, 0));
  EXPECT_EQ(add(imported, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(add(imported, 1));
  const Handle private_memory = create(kGranule, properties(0));
  EXPECT_EQ(bind(imported, 0, private_memory), CUDA_ERROR_INVALID_VALUE) << "not shareable";
  const Handle memory = create(kGranule, properties(0, 1));
  EXPECT_OK(bind(imported, 0, memory));
  EXPECT_OK(driver()(calls::MemRelease{imported}));
  for (const Handle each : {handle, private_memory, memory}) {
    EXPECT_OK(driver()(calls::MemRelease{each}));
  }
}

TEST_F(Multicast, WhatIsForMemoryAloneIsRefused) {
  Ready ready;
  CUmemAllocationProp prop{};
  EXPECT_EQ(driver()(calls::MemGetAllocationPropertiesFromHandle{&prop, ready.handle}),
            CUDA_ERROR_NOT_SUPPORTED);
  int fd = -1;
  EXPECT_NE(driver()(calls::MemGetHandleForAddressRange{&fd, ready.address, kGranule,
                                                        CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0}),
            CUDA_SUCCESS);
  EXPECT_EQ(set_access(ready.address, 2 * kGranule, access(0, 3, CU_MEM_LOCATION_TYPE_HOST)),
            CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(set_access(ready.address, 2 * kGranule, access(5)), CUDA_ERROR_ILLEGAL_STATE)
      << "it is not in the team";
  ready.end_object();
}

TEST_F(Multicast, NothingLeaks) {
  const int before = dup(0);
  close(before);
  for (int i = 0; i < 10; ++i) {
    Ready ready;
    EXPECT_OK(fill(ready.address, 1, 1));
    ready.end_object();
  }
  const int after = dup(0);
  close(after);
  EXPECT_EQ(after, before);
}

}  // namespace
}  // namespace cuvmm::emulator::testing
