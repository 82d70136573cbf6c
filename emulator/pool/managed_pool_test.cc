// SPDX-License-Identifier: Apache-2.0
// Pools of managed memory, and batches of prefetches and discards. The answers are the documented
// ones; none was measured.
#include <cstring>
#include <vector>

#include "emulator/testing.h"

namespace cuvmm::emulator::testing {
namespace {

constexpr int kNone = 0, kDevice = 1, kHost = 2, kNuma = 3, kNumaCurrent = 4;
constexpr auto kManaged = static_cast<CUmemAllocationType>(2);

CUmemLocation location(int type, int id = 0) {
  CUmemLocation place{};
  place.type = static_cast<CUmemLocationType>(type);
  place.id = id;
  return place;
}

class ManagedPool : public EmulatorTest {
 protected:
  static CUmemPoolProps props(int type, int id = 0) {
    CUmemPoolProps props{};
    props.allocType = kManaged;
    props.location = location(type, id);
    return props;
  }
  static CUresult create(const CUmemPoolProps& props, CUmemoryPool* pool) {
    return driver()(calls::MemPoolCreate{pool, &props});
  }
  static CUdeviceptr take(CUmemoryPool pool, std::size_t size) {
    CUdeviceptr address = 0;
    EXPECT_EQ(driver()(calls::MemAllocFromPoolAsync{&address, size, pool, nullptr}), CUDA_SUCCESS);
    return address;
  }
  template <class Value>
  static Value attribute(CUpointer_attribute number, CUdeviceptr address) {
    Value value{};
    EXPECT_EQ(driver()(calls::PointerGetAttribute{&value, number, address}), CUDA_SUCCESS);
    return value;
  }
  static int range(int attribute, CUdeviceptr address, std::size_t size) {
    auto* get =
        symbol<CUresult(void*, std::size_t, CUmem_range_attribute, CUdeviceptr, std::size_t)>(
            "cuMemRangeGetAttribute");
    int value = 99;
    EXPECT_EQ(
        get(&value, sizeof value, static_cast<CUmem_range_attribute>(attribute), address, size),
        CUDA_SUCCESS);
    return value;
  }
  static std::uint64_t used(CUmemoryPool pool) {
    auto* get = symbol<CUresult(CUmemoryPool, CUmemPool_attribute, void*)>("cuMemPoolGetAttribute");
    std::uint64_t bytes = 1;
    EXPECT_EQ(get(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &bytes), CUDA_SUCCESS);
    return bytes;
  }
};

TEST_F(ManagedPool, GivesMemoryThatIsEveryonesWhereverItPrefersToBe) {
  for (const CUmemLocation& place :
       {location(kNone), location(kDevice, 1), location(kHost), location(kNuma)}) {
    CUmemoryPool pool = nullptr;
    ASSERT_EQ(create(props(static_cast<int>(place.type), place.id), &pool), CUDA_SUCCESS);
    const CUdeviceptr p = take(pool, 5000);
    auto* bytes = reinterpret_cast<volatile unsigned char*>(p);
    bytes[4999] = 3;
    for (const int device : {0, 1}) {
      use_device(device);
      unsigned char read = 0;
      EXPECT_EQ(driver()(calls::MemcpyDtoH{&read, p + 4999, 1}), CUDA_SUCCESS);
      EXPECT_EQ(read, 3 + device);
      EXPECT_EQ(driver()(calls::MemsetD8{p, static_cast<unsigned char>(4 + device), 5000}),
                CUDA_SUCCESS);
    }
    EXPECT_EQ(bytes[4999], 5);
    use_device(0);
    EXPECT_EQ(attribute<int>(CU_POINTER_ATTRIBUTE_IS_MANAGED, p), 1);
    EXPECT_EQ(attribute<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p),
              static_cast<unsigned>(CU_MEMORYTYPE_DEVICE));
    EXPECT_EQ(attribute<CUmemoryPool>(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, p), pool);
    constexpr int kPreferredType = 5;
    EXPECT_EQ(range(kPreferredType, p, 5000), static_cast<int>(place.type));
    EXPECT_EQ(used(pool), 5000u);
    EXPECT_EQ(driver()(calls::MemFreeAsync{p, nullptr}), CUDA_SUCCESS);
    EXPECT_EQ(used(pool), 0u);
    EXPECT_EQ(symbol<CUresult(CUmemoryPool, std::size_t)>("cuMemPoolTrimTo")(pool, 0),
              CUDA_SUCCESS);
    EXPECT_EQ(driver()(calls::MemPoolDestroy{pool}), CUDA_SUCCESS);
    EXPECT_EQ(driver()(calls::MemcpyDtoH{&pool, p, 1}), CUDA_ERROR_INVALID_VALUE) << "it is gone";
  }
}

TEST_F(ManagedPool, RefusesWhatItCannotBe) {
  CUmemoryPool pool = nullptr;
  CUmemPoolProps exported = props(kDevice), bounded = props(kDevice), pinned = props(kNone);
  exported.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  EXPECT_EQ(create(exported, &pool), CUDA_ERROR_INVALID_VALUE);
  bounded.maxSize = 1 << 20;
  EXPECT_EQ(create(bounded, &pool), CUDA_ERROR_INVALID_VALUE);
  pinned.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  EXPECT_EQ(create(pinned, &pool), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(create(props(kDevice, 99), &pool), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(create(props(kNuma, 63), &pool), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(create(props(kNumaCurrent), &pool), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(create(props(kDevice), &pool), CUDA_SUCCESS);
  int fd = -1;
  EXPECT_EQ(driver()(calls::MemPoolExportToShareableHandle{
                &fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0}),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver()(calls::DeviceSetMemPool{0, pool}), CUDA_ERROR_INVALID_VALUE) << "not pinned";
  EXPECT_EQ(driver()(calls::MemPoolDestroy{pool}), CUDA_SUCCESS);
}

TEST_F(ManagedPool, AccessIsEveryonesAndCannotBeTakenAway) {
  auto* get =
      symbol<CUresult(CUmemAccess_flags*, CUmemoryPool, CUmemLocation*)>("cuMemPoolGetAccess");
  CUmemoryPool pool = nullptr;
  ASSERT_EQ(create(props(kHost), &pool), CUDA_SUCCESS);
  const CUmemAccessDesc none[] = {access(0, CU_MEM_ACCESS_FLAGS_PROT_NONE),
                                  access(1, CU_MEM_ACCESS_FLAGS_PROT_NONE)};
  EXPECT_EQ(driver()(calls::MemPoolSetAccess{pool, none, 2}), CUDA_SUCCESS);
  for (CUmemLocation place : {location(kDevice), location(kDevice, 1), location(kHost)}) {
    CUmemAccess_flags flags{};
    EXPECT_EQ(get(&flags, pool, &place), CUDA_SUCCESS);
    EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  }
  const CUdeviceptr p = take(pool, 64);
  EXPECT_EQ(driver()(calls::MemsetD8{p, 1, 64}), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::MemFree{p}), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::MemPoolDestroy{pool}), CUDA_SUCCESS);
}

TEST_F(ManagedPool, EachPlaceHasOneOfItsOwn) {
  using Get = CUresult(CUmemoryPool*, CUmemLocation*, CUmemAllocationType);
  auto* get_default = symbol<Get>("cuMemGetDefaultMemPool");
  auto* get = symbol<Get>("cuMemGetMemPool");
  auto* set =
      symbol<CUresult(CUmemLocation*, CUmemAllocationType, CUmemoryPool)>("cuMemSetMemPool");
  CUmemLocation at_device = location(kDevice), nowhere = location(kNone, 7),
                at_host = location(kHost);
  CUmemoryPool of_device = nullptr, of_none = nullptr, pool = nullptr, mine = nullptr;
  ASSERT_EQ(get_default(&of_device, &at_device, kManaged), CUDA_SUCCESS);
  ASSERT_EQ(get(&of_none, &nowhere, kManaged), CUDA_SUCCESS);
  EXPECT_NE(of_none, of_device);
  EXPECT_EQ(driver()(calls::DeviceGetDefaultMemPool{&pool, 0}), CUDA_SUCCESS);
  EXPECT_NE(pool, of_device) << "that is pinned";
  EXPECT_EQ(get(&pool, &nowhere, CU_MEM_ALLOCATION_TYPE_PINNED), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver()(calls::MemPoolDestroy{of_none}), CUDA_ERROR_INVALID_VALUE);
  const CUdeviceptr p = take(of_none, 64);
  EXPECT_EQ(driver()(calls::MemsetD8{p, 1, 64}), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::MemFreeAsync{p, nullptr}), CUDA_SUCCESS);
  ASSERT_EQ(create(props(kDevice), &mine), CUDA_SUCCESS);
  EXPECT_EQ(set(&at_device, CU_MEM_ALLOCATION_TYPE_PINNED, mine), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set(&at_host, kManaged, mine), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set(&at_device, kManaged, mine), CUDA_SUCCESS);
  EXPECT_EQ(get(&pool, &at_device, kManaged), CUDA_SUCCESS);
  EXPECT_EQ(pool, mine);
  EXPECT_EQ(driver()(calls::MemPoolDestroy{mine}), CUDA_SUCCESS);
  EXPECT_EQ(get(&pool, &at_device, kManaged), CUDA_SUCCESS);
  EXPECT_EQ(pool, of_device) << "the default again";
}

// With several devices: the default pool of the host belongs to no device, and copies need no
// access.
TEST_F(ManagedPool, MemoryOfTheHostsDefaultPoolIsCopied) {
  auto* get_default = symbol<CUresult(CUmemoryPool*, CUmemLocation*, CUmemAllocationType)>(
      "cuMemGetDefaultMemPool");
  CUmemLocation host = location(kHost);
  CUmemoryPool pool = nullptr;
  ASSERT_EQ(get_default(&pool, &host, CU_MEM_ALLOCATION_TYPE_PINNED), CUDA_SUCCESS);
  const CUdeviceptr p = take(pool, 64);
  CUdeviceptr plain = 0;
  ASSERT_EQ(driver()(calls::MemAlloc{&plain, 64}), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::MemcpyAsync{plain, p, 64, nullptr}), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::MemFree{plain}), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::MemFreeAsync{p, nullptr}), CUDA_SUCCESS);
}

class ManagedBatch : public ManagedPool {
 protected:
  using Prefetch = CUresult(CUdeviceptr*, std::size_t*, std::size_t, CUmemLocation*, std::size_t*,
                            std::size_t, unsigned long long, CUstream);
  using Discard = CUresult(CUdeviceptr*, std::size_t*, std::size_t, unsigned long long, CUstream);
  void SetUp() override {
    ManagedPool::SetUp();
    ASSERT_EQ(create(props(kNone), &pool_), CUDA_SUCCESS);
    for (std::size_t i = 0; i < 3; ++i) addresses_[i] = take(pool_, sizes_[i]);
    ASSERT_EQ(symbol<CUresult(CUstream*, unsigned)>("cuStreamCreate")(&stream_, 0), CUDA_SUCCESS);
  }
  void TearDown() override {
    for (const CUdeviceptr p : addresses_) driver()(calls::MemFreeAsync{p, nullptr});
    driver()(calls::MemPoolDestroy{pool_});
  }
  int last(std::size_t i) const {
    return range(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, addresses_[i], sizes_[i]);
  }

  CUmemoryPool pool_ = nullptr;
  CUstream stream_ = nullptr;
  CUdeviceptr addresses_[3] = {};
  std::size_t sizes_[3] = {64, 4096, 100};
  CUmemLocation locations_[2] = {location(kDevice, 1), location(kHost)};
  std::size_t first_[2] = {0, 2};
};

TEST_F(ManagedBatch, EachRangeGoesToTheLocationBeforeIt) {
  for (const char* name : {"cuMemPrefetchBatchAsync", "cuMemDiscardAndPrefetchBatchAsync"}) {
    auto* prefetch = symbol<Prefetch>(name);
    EXPECT_EQ(prefetch(addresses_, sizes_, 3, locations_, first_, 2, 0, stream_), CUDA_SUCCESS);
    EXPECT_EQ(last(0), 1);
    EXPECT_EQ(last(1), 1);
    EXPECT_EQ(last(2), CU_DEVICE_CPU);
    EXPECT_EQ(prefetch(addresses_, sizes_, 3, locations_ + 1, first_, 1, 0, stream_), CUDA_SUCCESS);
    EXPECT_EQ(last(0), CU_DEVICE_CPU);
  }
  auto* discard = symbol<Discard>("cuMemDiscardBatchAsync");
  EXPECT_EQ(discard(addresses_, sizes_, 3, 0, stream_), CUDA_SUCCESS);
  EXPECT_EQ(discard(addresses_, sizes_, 3, 1, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(discard(addresses_, sizes_, 3, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  auto* of_thread = symbol<Discard>("cuMemDiscardBatchAsync_ptsz");
  EXPECT_EQ(of_thread(addresses_, sizes_, 3, 0, nullptr), CUDA_SUCCESS) << "not the legacy stream";
}

TEST_F(ManagedBatch, ABadOneDoesNothing) {
  auto* prefetch = symbol<Prefetch>("cuMemPrefetchBatchAsync");
  const auto tried = [&](std::size_t count, std::size_t number, CUstream stream) {
    return prefetch(addresses_, sizes_, count, locations_, first_, number, 0, stream);
  };
  EXPECT_EQ(tried(3, 2, CU_STREAM_LEGACY), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(tried(0, 0, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(tried(1, 2, stream_), CUDA_ERROR_INVALID_VALUE) << "more locations than ranges";
  EXPECT_EQ(tried(2, 2, stream_), CUDA_ERROR_INVALID_VALUE) << "the second begins behind the end";
  first_[0] = 1;
  EXPECT_EQ(tried(3, 2, stream_), CUDA_ERROR_INVALID_VALUE) << "the first does not begin at 0";
  first_[0] = first_[1] = 0;
  EXPECT_EQ(tried(3, 2, stream_), CUDA_ERROR_INVALID_VALUE) << "not in order";
  first_[1] = 2;
  locations_[1] = location(kDevice, 99);
  EXPECT_EQ(tried(3, 2, stream_), CUDA_ERROR_INVALID_DEVICE);
  sizes_[2] = 101;
  EXPECT_EQ(tried(3, 1, stream_), CUDA_ERROR_INVALID_VALUE) << "past its end";
  sizes_[2] = 100;
  EXPECT_EQ(last(0), CU_DEVICE_INVALID);
  CUdeviceptr plain = 0;
  ASSERT_EQ(driver()(calls::MemAlloc{&plain, 64}), CUDA_SUCCESS);
  std::swap(plain, addresses_[1]);
  EXPECT_EQ(tried(3, 1, stream_), CUDA_ERROR_INVALID_VALUE) << "not managed";
  std::swap(plain, addresses_[1]);
  EXPECT_EQ(driver()(calls::MemFree{plain}), CUDA_SUCCESS);
}

TEST_F(ManagedPool, TellsWhereThePiecesOfItsMemoryLie) {
  constexpr std::size_t kPiece = 1 << 20;
  CUmemoryPool pool = nullptr;
  ASSERT_EQ(create(props(kNone), &pool), CUDA_SUCCESS);
  const CUdeviceptr p = take(pool, 2 * kPiece + 1);
  CUmemLocation places[4];
  const auto ask = [&](CUdeviceptr at, std::size_t size) {
    for (CUmemLocation& place : places) place = location(99, 99);
    return driver()(calls::MemGetLocationInfo{at, size, kPiece, 0, places});
  };
  *reinterpret_cast<volatile char*>(p + kPiece) = 1;
  ASSERT_EQ(ask(p, 2 * kPiece + 1), CUDA_SUCCESS);
  EXPECT_EQ(static_cast<int>(places[0].type), kNone) << "nobody touched it";
  EXPECT_EQ(static_cast<int>(places[1].type), kHost);
  EXPECT_EQ(static_cast<int>(places[2].type), kNone) << "the last piece is shorter";
  EXPECT_EQ(static_cast<int>(places[3].type), 99) << "there are three";
  auto* prefetch = symbol<CUresult(CUdeviceptr, std::size_t, CUmemLocation, unsigned, CUstream)>(
      "cuMemPrefetchAsync_v2");
  ASSERT_EQ(prefetch(p, kPiece, location(kDevice, 1), 0, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(ask(p, kPiece), CUDA_SUCCESS);
  EXPECT_EQ(static_cast<int>(places[0].type), kDevice);
  EXPECT_EQ(places[0].id, 1);
  EXPECT_EQ(ask(p, 3 * kPiece), CUDA_ERROR_INVALID_VALUE) << "beyond its end";
  EXPECT_EQ(driver()(calls::MemFreeAsync{p, nullptr}), CUDA_SUCCESS);
  EXPECT_EQ(ask(p, kPiece), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver()(calls::MemPoolDestroy{pool}), CUDA_SUCCESS);
}

TEST_F(ManagedPool, TellsOfSystemMemoryToo) {
  std::vector<char> own(1 << 20, 1);
  CUmemLocation place = location(99);
  const auto ask = [&](CUdeviceptr at) {
    return driver()(calls::MemGetLocationInfo{at, own.size(), own.size(), 0, &place});
  };
  EXPECT_EQ(ask(reinterpret_cast<CUdeviceptr>(own.data())), CUDA_SUCCESS);
  EXPECT_EQ(static_cast<int>(place.type), kHost);
  CUdeviceptr plain = 0;
  ASSERT_EQ(driver()(calls::MemAlloc{&plain, own.size()}), CUDA_SUCCESS);
  EXPECT_EQ(ask(plain), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver()(calls::MemFree{plain}), CUDA_SUCCESS);
  void* locked = nullptr;
  ASSERT_EQ(driver()(calls::MemAllocHost{&locked, own.size()}), CUDA_SUCCESS);
  EXPECT_EQ(ask(reinterpret_cast<CUdeviceptr>(locked)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver()(calls::MemFreeHost{locked}), CUDA_SUCCESS);
  EXPECT_EQ(ask(0x1000), CUDA_ERROR_INVALID_VALUE) << "nothing is there";
}

}  // namespace
}  // namespace cuvmm::emulator::testing
