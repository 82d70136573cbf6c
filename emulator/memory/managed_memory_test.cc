// SPDX-License-Identifier: Apache-2.0
// Managed memory, and pools of the host: the CPU and the devices reach this memory at equal
// addresses.
#include <csignal>
#include <cstring>

#include "emulator/testing.h"

namespace cuvmm::emulator::testing {
namespace {

CUmemLocation location(int type, int id = 0) {
  CUmemLocation place{};
  place.type = static_cast<CUmemLocationType>(type);
  place.id = id;
  return place;
}
constexpr int kDevice = 1, kHost = 2, kNuma = 3, kNumaCurrent = 4;

class Managed : public EmulatorTest {
 protected:
  CUdeviceptr allocate(std::size_t size) {
    CUdeviceptr address = 0;
    EXPECT_OK(allocate_(&address, size, CU_MEM_ATTACH_GLOBAL));
    return address;
  }
  int range(CUmem_range_attribute attribute, CUdeviceptr address, std::size_t size) {
    int value = 99;
    EXPECT_OK(range_(&value, sizeof value, attribute, address, size)) << attribute;
    return value;
  }
  int attribute(CUpointer_attribute number, CUdeviceptr address) {
    int value = 99;
    EXPECT_OK(driver()(calls::PointerGetAttribute{&value, number, address}));
    return value;
  }
  CUresult (*allocate_)(CUdeviceptr*, std::size_t, unsigned) =
      symbol<CUresult(CUdeviceptr*, std::size_t, unsigned)>("cuMemAllocManaged");
  CUresult (*range_)(void*, std::size_t, CUmem_range_attribute, CUdeviceptr, std::size_t) =
      symbol<CUresult(void*, std::size_t, CUmem_range_attribute, CUdeviceptr, std::size_t)>(
          "cuMemRangeGetAttribute");
};

TEST_F(Managed, TheCpuAndTheDeviceSeeOneMemory) {
  const CUdeviceptr address = allocate(5000);
  auto* bytes = reinterpret_cast<volatile unsigned char*>(address);
  EXPECT_EQ(bytes[4999], 0);
  ASSERT_OK(driver()(calls::MemsetD8{address, 7, 5000}));
  EXPECT_EQ(bytes[4999], 7);
  bytes[1] = 9;
  unsigned char read[2] = {};
  ASSERT_OK(driver()(calls::MemcpyDtoH{read, address, 2}));
  EXPECT_EQ(read[0], 7);
  EXPECT_EQ(read[1], 9);
  EXPECT_EQ(attribute(CU_POINTER_ATTRIBUTE_IS_MANAGED, address), 1);
  EXPECT_EQ(attribute(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address), CU_MEMORYTYPE_DEVICE);
  EXPECT_EQ(attribute(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, address), 0);
  void* host = nullptr;
  EXPECT_OK(
      driver()(calls::PointerGetAttribute{&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, address}));
  EXPECT_EQ(host, reinterpret_cast<void*>(address));
  EXPECT_OK(driver()(calls::MemFree{address}));
  EXPECT_EQ(driver()(calls::MemFree{address}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_DEATH(bytes[0] = 1, "") << "it is gone";
}

TEST_F(Managed, RefusesSizesAndFlagsThatAreNone) {
  CUdeviceptr address = 5;
  EXPECT_EQ(allocate_(&address, 0, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(allocate_(&address, 64, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(allocate_(&address, 64, CU_MEM_ATTACH_SINGLE), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(allocate_(nullptr, 64, CU_MEM_ATTACH_HOST), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(address, 5u);
}

// An H100 accepts advice that names a NUMA node for any range. Other advice, and a prefetch on a
// default stream, need a current context; before the context, a prefetch needs a device that
// exists.
TEST_F(Managed, AdviceOfANodeIsTakenForAnyRange) {
  const CUdeviceptr range = reserve(kGranule);
  const auto advise = [&](int advice, int type) {
    return driver()(
        calls::MemAdvise_v2{range, kGranule, static_cast<CUmem_advise>(advice), location(type)});
  };
  const auto prefetch = [&](int device, CUstream stream) {
    return driver()(
        calls::MemPrefetchAsync_v2{range, kGranule, location(kDevice, device), 0, stream});
  };
  CUstream stream = nullptr;
  ASSERT_OK(driver()(calls::StreamCreate{&stream, 0}));
  for (const bool context : {true, false}) {
    ASSERT_OK(driver()(calls::CtxSetCurrent{context ? context_ : nullptr}));
    const CUresult refused = context ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_CONTEXT;
    for (int advice = 1; advice <= 6; ++advice) {
      const bool about_place = advice <= 4;
      for (const int type : {kNuma, kNumaCurrent}) {
        EXPECT_EQ(advise(advice, type), about_place ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
      }
      for (const int type : {kDevice, kHost}) EXPECT_EQ(advise(advice, type), refused);
    }
    EXPECT_EQ(prefetch(0, nullptr), refused);
    EXPECT_EQ(prefetch(0, stream), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(prefetch(99, nullptr), CUDA_ERROR_INVALID_DEVICE);
  }
  ASSERT_OK(driver()(calls::CtxSetCurrent{context_}));
  EXPECT_OK(driver()(calls::StreamDestroy{stream}));
  EXPECT_OK(driver()(calls::MemAddressFree{range, kGranule}));
}

TEST_F(Managed, AdviceAndPrefetchesCanBeAskedFor) {
  auto* advise =
      symbol<CUresult(CUdeviceptr, std::size_t, CUmem_advise, CUmemLocation)>("cuMemAdvise_v2");
  auto* advise_old =
      symbol<CUresult(CUdeviceptr, std::size_t, CUmem_advise, CUdevice)>("cuMemAdvise");
  auto* prefetch = symbol<CUresult(CUdeviceptr, std::size_t, CUmemLocation, unsigned, CUstream)>(
      "cuMemPrefetchAsync_v2");
  auto* prefetch_old =
      symbol<CUresult(CUdeviceptr, std::size_t, CUdevice, CUstream)>("cuMemPrefetchAsync");
  const CUdeviceptr p = allocate(4096);
  EXPECT_EQ(range(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p, 4096), 0);
  EXPECT_EQ(range(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, p, 4096), CU_DEVICE_INVALID);
  EXPECT_OK(advise(p, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, location(0)));
  EXPECT_OK(advise(p, 4096, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, location(kDevice, 2)));
  EXPECT_OK(advise_old(p, 4096, CU_MEM_ADVISE_SET_ACCESSED_BY, 1));
  EXPECT_EQ(advise(p, 4096, CU_MEM_ADVISE_SET_ACCESSED_BY, location(kDevice, 99)),
            CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(advise(p, 4097, CU_MEM_ADVISE_SET_READ_MOSTLY, location(0)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(range(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p, 4096), 1);
  EXPECT_EQ(range(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, p, 4096), 2);
  int by[2] = {7, 7};
  EXPECT_OK(range_(by, sizeof by, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, p, 4096));
  EXPECT_EQ(by[0], 1);
  EXPECT_EQ(by[1], CU_DEVICE_INVALID);
  EXPECT_OK(advise_old(p, 4096, CU_MEM_ADVISE_SET_ACCESSED_BY, CU_DEVICE_CPU));
  EXPECT_OK(range_(by, sizeof by, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, p, 4096));
  EXPECT_EQ(by[0], 1) << "the CPU comes last";
  EXPECT_EQ(by[1], CU_DEVICE_CPU);
  EXPECT_OK(prefetch_old(p, 4096, CU_DEVICE_CPU, nullptr));
  EXPECT_EQ(range(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, p, 4096), CU_DEVICE_CPU);
  EXPECT_OK(prefetch(p, 4096, location(kDevice, 1), 0, nullptr));
  EXPECT_EQ(range(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, p, 4096), 1);
  EXPECT_EQ(prefetch(p, 4096, location(kDevice, 1), 1, nullptr), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr plain = 0;
  ASSERT_OK(driver()(calls::MemAlloc{&plain, 64}));
  EXPECT_EQ(prefetch(plain, 64, location(kDevice), 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(driver()(calls::MemFree{plain}));
  EXPECT_OK(driver()(calls::MemFree{p}));
}

// As an H200 answered, except for kernels.
class HostPool : public EmulatorTest {
 protected:
  static CUresult create(int type, int id, unsigned handle_types, CUmemoryPool* pool) {
    CUmemPoolProps props{};
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location = location(type, id);
    props.handleTypes = static_cast<CUmemAllocationHandleType>(handle_types);
    return driver()(calls::MemPoolCreate{pool, &props});
  }
  static CUresult give_access(CUmemoryPool pool, int type, int flags) {
    const CUmemAccessDesc desc = access(0, flags, static_cast<CUmemLocationType>(type));
    return driver()(calls::MemPoolSetAccess{pool, &desc, 1});
  }
  static int access_of(CUmemoryPool pool, int type) {
    CUmemLocation place = location(type);
    CUmemAccess_flags flags = static_cast<CUmemAccess_flags>(9);
    auto* get =
        symbol<CUresult(CUmemAccess_flags*, CUmemoryPool, CUmemLocation*)>("cuMemPoolGetAccess");
    const CUresult result = get(&flags, pool, &place);
    return result == CUDA_SUCCESS ? static_cast<int>(flags) : -static_cast<int>(result);
  }
};

TEST_F(HostPool, IsTheCpusAtOnceAndADevicesOnceItMay) {
  for (const int type : {kHost, kNuma}) {
    CUmemoryPool pool = nullptr;
    ASSERT_OK(create(type, 0, 0, &pool));
    CUdeviceptr p = 0;
    ASSERT_OK(driver()(calls::MemAllocFromPoolAsync{&p, 4096, pool, nullptr}));
    auto* bytes = reinterpret_cast<volatile unsigned char*>(p);
    bytes[4095] = 3;
    EXPECT_EQ(bytes[4095], 3);
    EXPECT_EQ(access_of(pool, kDevice), 0);
    EXPECT_EQ(access_of(pool, kHost), 3);
    EXPECT_EQ(access_of(pool, kNuma), 3);
    EXPECT_EQ(access_of(pool, kNumaCurrent), -static_cast<int>(CUDA_ERROR_INVALID_VALUE));
    EXPECT_EQ(driver()(calls::MemsetD8{p, 7, 4096}), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(give_access(pool, kDevice, CU_MEM_ACCESS_FLAGS_PROT_READ), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(give_access(pool, kHost, CU_MEM_ACCESS_FLAGS_PROT_NONE), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_OK(give_access(pool, kHost, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    EXPECT_OK(give_access(pool, kDevice, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    EXPECT_OK(driver()(calls::MemsetD8{p, 7, 4096}));
    EXPECT_EQ(bytes[4095], 7);
    unsigned kind = 0;
    EXPECT_OK(driver()(calls::PointerGetAttribute{&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p}));
    EXPECT_EQ(kind, static_cast<unsigned>(CU_MEMORYTYPE_HOST));
    CUdeviceptr base = 1;
    EXPECT_EQ(driver()(calls::PointerGetAttribute{&base, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, p}),
              CUDA_SUCCESS);
    EXPECT_EQ(base, 0u);
    std::size_t size = 0;
    EXPECT_EQ(driver()(calls::MemGetAddressRange{&base, &size, p}), CUDA_ERROR_NOT_FOUND);
    EXPECT_OK(driver()(calls::MemFreeAsync{p, nullptr}));
    EXPECT_OK(driver()(calls::MemPoolDestroy{pool}));
  }
}

TEST_F(HostPool, AnExportKeepsWhatTheCpuWrote) {
  CUmemoryPool pool = nullptr;
  ASSERT_OK(create(kNuma, 0, 1, &pool));
  CUdeviceptr p = 0;
  ASSERT_OK(driver()(calls::MemAllocFromPoolAsync{&p, 9000, pool, nullptr}));
  auto* bytes = reinterpret_cast<volatile unsigned char*>(p);
  bytes[8999] = 42;
  int fd = -1;
  ASSERT_OK(driver()(calls::MemPoolExportToShareableHandle{
      &fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0}));
  close(fd);
  CUmemPoolPtrExportData data{};
  ASSERT_OK(driver()(calls::MemPoolExportPointer{&data, p}));
  EXPECT_EQ(bytes[8999], 42);
  bytes[0] = 1;
  EXPECT_EQ(bytes[0], 1);
  EXPECT_OK(driver()(calls::MemFreeAsync{p, nullptr}));
  EXPECT_OK(driver()(calls::MemPoolDestroy{pool}));
}

TEST_F(HostPool, EachPlaceHasADefaultPoolAndACurrentOne) {
  using Get = CUresult(CUmemoryPool*, CUmemLocation*, CUmemAllocationType);
  auto* get_default = symbol<Get>("cuMemGetDefaultMemPool");
  auto* get = symbol<Get>("cuMemGetMemPool");
  auto* set =
      symbol<CUresult(CUmemLocation*, CUmemAllocationType, CUmemoryPool)>("cuMemSetMemPool");
  constexpr auto kPinned = CU_MEM_ALLOCATION_TYPE_PINNED;
  CUmemoryPool device = nullptr, host = nullptr, pool = nullptr, mine = nullptr;
  CUmemLocation at_device = location(kDevice), at_host = location(kHost);
  ASSERT_OK(get_default(&device, &at_device, kPinned));
  EXPECT_OK(driver()(calls::DeviceGetDefaultMemPool{&pool, 0}));
  EXPECT_EQ(pool, device);
  ASSERT_OK(get_default(&host, &at_host, kPinned));
  EXPECT_NE(host, device);
  EXPECT_OK(get(&pool, &at_host, kPinned));
  EXPECT_EQ(pool, host);
  EXPECT_EQ(driver()(calls::MemPoolDestroy{host}), CUDA_ERROR_INVALID_VALUE);
  ASSERT_OK(create(kHost, 0, 0, &mine));
  EXPECT_EQ(set(&at_device, kPinned, mine), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(set(&at_host, kPinned, mine));
  EXPECT_OK(get(&pool, &at_host, kPinned));
  EXPECT_EQ(pool, mine);
  EXPECT_OK(driver()(calls::MemPoolDestroy{mine}));
  EXPECT_OK(get(&pool, &at_host, kPinned));
  EXPECT_EQ(pool, host) << "the default again";
  CUmemLocation nowhere = location(kDevice, 99), current = location(kNumaCurrent);
  EXPECT_EQ(get(&pool, &nowhere, kPinned), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get(&pool, &current, kPinned), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(get(&pool, &at_host, static_cast<CUmemAllocationType>(5)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set(&at_host, kPinned, nullptr), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace cuvmm::emulator::testing
