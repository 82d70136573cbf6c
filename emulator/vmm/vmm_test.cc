// SPDX-License-Identifier: Apache-2.0
// Virtual memory management on the emulated machine: the behaviour that rules alone do not decide.
#include <thread>

#include "api/location.h"
#include "emulator/testing.h"

namespace cuvmm::emulator::testing {
namespace {

class Vmm : public EmulatorTest {};

CUresult fill_bytes(CUdeviceptr address, unsigned char value, std::size_t count) {
  return driver()(calls::MemsetD8{address, value, count});
}

unsigned char stored_at(CUdeviceptr address) {
  unsigned char value = 0xee;
  EXPECT_OK(driver()(calls::MemcpyDtoH{&value, address, 1}));
  return value;
}

std::size_t free_memory() {
  std::size_t free = 0, total = 0;
  EXPECT_OK(driver()(calls::MemGetInfo{&free, &total}));
  return free;
}

TEST_F(Vmm, MemoryIsZeroThenWhatWasWritten) {
  const Mapped m = mapped();
  EXPECT_EQ(stored_at(m.address + 12345), 0);
  EXPECT_OK(fill_bytes(m.address, 7, m.size));
  EXPECT_EQ(stored_at(m.address + m.size - 1), 7);
  end(m);
}

TEST_F(Vmm, TwoMappingsOfOneAllocationAlias) {
  const Mapped m = mapped();
  const CUdeviceptr other = reserve(kGranule);
  ASSERT_OK(map(other, kGranule, m.handle));
  ASSERT_OK(set_access(other, kGranule, access()));
  EXPECT_OK(fill_bytes(m.address + 100, 9, 1));
  EXPECT_EQ(stored_at(other + 100), 9);
  EXPECT_OK(driver()(calls::MemUnmap{other, kGranule}));
  EXPECT_OK(driver()(calls::MemAddressFree{other, kGranule}));
  EXPECT_EQ(stored_at(m.address + 100), 9) << "one unmap leaves the other mapping alone";
  end(m);
}

TEST_F(Vmm, ContentsOutliveTheirMappingAndDieWithTheAllocation) {
  Mapped m = mapped();
  EXPECT_OK(fill_bytes(m.address, 5, 16));
  ASSERT_OK(driver()(calls::MemUnmap{m.address, m.size}));
  ASSERT_OK(map(m.address, m.size, m.handle));
  ASSERT_OK(set_access(m.address, m.size, access()));
  EXPECT_EQ(stored_at(m.address), 5);
  end(m);
  const Mapped fresh = mapped();  // likely with the freed handle's value and address
  EXPECT_EQ(stored_at(fresh.address), 0);
  end(fresh);
}

TEST_F(Vmm, FreeMemoryReturnsWithTheLastReferenceOrMapping) {
  const std::size_t before = free_memory();
  const std::size_t size = 512 * kGranule;
  const Mapped m = mapped(size);
  EXPECT_EQ(before - free_memory(), size);
  EXPECT_OK(driver()(calls::MemRelease{m.handle}));
  EXPECT_EQ(before - free_memory(), size) << "the mapping keeps it";
  EXPECT_OK(driver()(calls::MemUnmap{m.address, size}));
  EXPECT_EQ(free_memory(), before);
  EXPECT_OK(driver()(calls::MemAddressFree{m.address, size}));
}

TEST_F(Vmm, OneDevicesMemoryIsNotAnothers) {
  const std::size_t before = free_memory();
  const CUmemAllocationProp prop = properties(1);
  const CUmemGenericAllocationHandle handle = create(kGranule, prop);
  EXPECT_EQ(free_memory(), before);
  EXPECT_OK(driver()(calls::MemRelease{handle}));
}

TEST_F(Vmm, MoreThanADeviceHoldsIsOutOfMemory) {
  CUmemGenericAllocationHandle handle = 0;
  const CUmemAllocationProp prop = properties();
  const std::size_t size = (free_memory() / kGranule + 1) * kGranule;
  EXPECT_EQ(driver()(calls::MemCreate{&handle, size, &prop, 0}), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(handle, 0u);
}

TEST_F(Vmm, ADeviceWithoutAccessIsRefused) {
  const Mapped m = mapped();
  use_device(1);
  EXPECT_EQ(fill_bytes(m.address, 1, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(set_access(m.address, m.size, access(1, CU_MEM_ACCESS_FLAGS_PROT_READ)));
  EXPECT_EQ(stored_at(m.address), 0) << "a peer may read now";
  EXPECT_EQ(fill_bytes(m.address, 1, 1), CUDA_ERROR_INVALID_VALUE) << "but not write";
  EXPECT_OK(set_access(m.address, m.size, access(1)));
  EXPECT_OK(fill_bytes(m.address, 1, 1));
  use_device(0);
  EXPECT_EQ(stored_at(m.address), 1);
  end(m);
}

TEST_F(Vmm, APeerCopyUsesEachSidesOwnDevice) {
  const CUcontext second = use_device(1);
  const Mapped here = mapped();
  EXPECT_OK(driver()(calls::CtxSetCurrent{context_}));
  const Mapped there = mapped(kGranule, properties(1));
  ASSERT_OK(set_access(there.address, there.size, access(0, 0)));
  ASSERT_OK(set_access(there.address, there.size, access(1)));
  ASSERT_OK(fill_bytes(here.address, 6, 64));
  EXPECT_EQ(driver()(calls::MemcpyDtoD{there.address, here.address, 64}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(driver()(calls::MemcpyPeer{there.address, second, here.address, context_, 64}));
  EXPECT_OK(driver()(calls::CtxSetCurrent{second}));
  EXPECT_EQ(stored_at(there.address + 63), 6);
  end(here);
  end(there);
}

TEST_F(Vmm, TheCpuUsesHostMemoryAtItsDeviceAddress) {
  for (const CUmemLocationType type : {CU_MEM_LOCATION_TYPE_HOST, CU_MEM_LOCATION_TYPE_HOST_NUMA}) {
    CUmemAllocationProp prop = properties();
    prop.location.type = type;
    const Mapped m = mapped(kGranule, prop);
    ASSERT_OK(set_access(m.address, m.size, access(0, 3, type)));
    auto* bytes = reinterpret_cast<volatile int*>(m.address);
    bytes[10] = 77;
    int seen = 0;
    EXPECT_OK(driver()(calls::MemcpyDtoH{&seen, m.address + 40, 4}));
    EXPECT_EQ(seen, 77) << "the device sees what the CPU wrote";
    EXPECT_OK(driver()(calls::MemsetD32{m.address, 0x01020304, 8}));
    EXPECT_EQ(bytes[7], 0x01020304) << "and the CPU what the device wrote";
    end(m);
  }
}

TEST_F(Vmm, TheHostsAccessIsItsOwnOrThatOfDevice0) {
  CUmemAllocationProp prop = properties();
  prop.location.type = CU_MEM_LOCATION_TYPE_HOST;
  const Mapped m = mapped(kGranule, prop);  // device 0 may write
  const auto given = [&](const CUmemAccessDesc& desc) {
    EXPECT_OK(set_access(m.address, m.size, desc));
    const CUmemLocation host = make_location(CU_MEM_LOCATION_TYPE_HOST, 0);
    unsigned long long flags = 9;
    EXPECT_OK(driver()(calls::MemGetAccess{&flags, &host, m.address}));
    return flags;
  };
  EXPECT_EQ(given(access(1)), 3u) << "other devices do not count";
  EXPECT_EQ(given(access(0, 1)), 1u);
  EXPECT_EQ(given(access(0, 3, CU_MEM_LOCATION_TYPE_HOST)), 3u);
  EXPECT_EQ(given(access(0, 0, CU_MEM_LOCATION_TYPE_HOST)), 1u) << "the host has none any more";
  EXPECT_EQ(given(access(0, 0)), 0u);
  end(m);
}

using VmmDeathTest = Vmm;

TEST_F(VmmDeathTest, TheCpuFaultsOnEverythingElse) {
  const Mapped m = mapped();
  EXPECT_DEATH(*reinterpret_cast<volatile int*>(m.address) = 1, "");
  end(m);
  CUmemAllocationProp prop = properties();
  prop.location.type = CU_MEM_LOCATION_TYPE_HOST;
  const Mapped host = mapped(kGranule, prop);
  EXPECT_DEATH(*reinterpret_cast<volatile int*>(host.address) = 1, "") << "no host access yet";
  ASSERT_OK(set_access(host.address, host.size, access(0, 3, CU_MEM_LOCATION_TYPE_HOST)));
  *reinterpret_cast<volatile int*>(host.address) = 1;
  const CUdeviceptr address = host.address;
  end(host);
  EXPECT_DEATH(*reinterpret_cast<volatile int*>(address) = 1, "") << "unmapped";
}

TEST_F(Vmm, ThreadsWorkOnRangesOfTheirOwn) {
  constexpr int kThreads = 2;
  constexpr int kRounds = 300;
  int wrong[kThreads] = {};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      use_device(0);
      for (int i = 0; i < kRounds; ++i) {
        const Mapped m = mapped();
        const auto value = static_cast<unsigned char>(1 + t * 100 + i % 100);
        wrong[t] += stored_at(m.address) != 0;
        fill_bytes(m.address, value, 4096);
        wrong[t] += stored_at(m.address + 4095) != value;
        end(m);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int count : wrong) EXPECT_EQ(count, 0);
}

TEST_F(Vmm, A64TebibyteReservationSucceedsAndTwiceThatDoesNot) {
  if (dlsym(RTLD_DEFAULT, "__tsan_init")) GTEST_SKIP() << "ThreadSanitizer has 1.5 TiB in all";
  CUdeviceptr address = 0;
  const std::size_t size = std::size_t{1} << 46;
  ASSERT_OK(driver()(calls::MemAddressReserve{&address, size, 0, 0, 0}));
  EXPECT_OK(driver()(calls::MemAddressFree{address, size}));
  EXPECT_EQ(driver()(calls::MemAddressReserve{&address, 2 * size, 0, 0, 0}),
            CUDA_ERROR_OUT_OF_MEMORY);
}

}  // namespace
}  // namespace cuvmm::emulator::testing
