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
    EXPECT_OK(driver()(calls::MemAllocFromPoolAsync{&address, size, pool, nullptr}));
    return address;
  }
  template <class Value>
  static Value attribute(CUpointer_attribute number, CUdeviceptr address) {
    Value value{};
    EXPECT_OK(driver()(calls::PointerGetAttribute{&value, number, address}));
    return value;
  }
  static int range(int attribute, CUdeviceptr address, std::size_t size) {
    auto* get =
        symbol<CUresult(void*, std::size_t, CUmem_range_attribute, CUdeviceptr, std::size_t)>(
            "cuMemRangeGetAttribute");
    int value = 99;
    EXPECT_OK(
        get(&value, sizeof value, static_cast<CUmem_range_attribute>(attribute), address, size));
    return value;
  }
  static std::uint64_t used(CUmemoryPool pool) {
    auto* get = symbol<CUresult(CUmemoryPool, CUmemPool_attribute, void*)>("cuMemPoolGetAttribute");
    std::uint64_t bytes = 1;
    EXPECT_OK(get(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &bytes));
    return bytes;
  }
};

TEST_F(ManagedPool, GivesMemoryThatIsEveryonesWhereverItPrefersToBe) {
  for (const CUmemLocation& place :
       {location(kNone), location(kDevice, 1), location(kHost), location(kNuma)}) {
    CUmemoryPool pool = nullptr;
    ASSERT_OK(create(props(static_cast<int>(place.type), place.id), &pool));
    const CUdeviceptr p = take(pool, 5000);
    auto* bytes = reinterpret_cast<volatile unsigned char*>(p);
    bytes[4999] = 3;
    for (const int device : {0, 1}) {
      use_device(device);
      unsigned char read = 0;
      EXPECT_OK(driver()(calls::MemcpyDtoH{&read, p + 4999, 1}));
      EXPECT_EQ(read, 3 + device);
      EXPECT_OK(driver()(calls::MemsetD8{p, static_cast<unsigned char>(4 + device), 5000}));
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
    EXPECT_OK(driver()(calls::MemFreeAsync{p, nullptr}));
    EXPECT_EQ(used(pool), 0u);
    EXPECT_OK(symbol<CUresult(CUmemoryPool, std::size_t)>("cuMemPoolTrimTo")(pool, 0));
    EXPECT_OK(driver()(calls::MemPoolDestroy{pool}));
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
  ASSERT_OK(create(props(kDevice), &pool));
  int fd = -1;
  EXPECT_EQ(driver()(calls::MemPoolExportToShareableHandle{
                &fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0}),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver()(calls::DeviceSetMemPool{0, pool}), CUDA_ERROR_INVALID_VALUE) << "not pinned";
  EXPECT_OK(driver()(calls::MemPoolDestroy{pool}));
}

TEST_F(ManagedPool, AccessIsEveryonesAndCannotBeTakenAway) {
  auto* get =
      symbol<CUresult(CUmemAccess_flags*, CUmemoryPool, CUmemLocation*)>("cuMemPoolGetAccess");
  CUmemoryPool pool = nullptr;
  ASSERT_OK(create(props(kHost), &pool));
  const CUmemAccessDesc none[] = {access(0, CU_MEM_ACCESS_FLAGS_PROT_NONE),
                                  access(1, CU_MEM_ACCESS_FLAGS_PROT_NONE)};
  EXPECT_OK(driver()(calls::MemPoolSetAccess{pool, none, 2}));
  for (CUmemLocation place : {location(kDevice), location(kDevice, 1), location(kHost)}) {
    CUmemAccess_flags flags{};
    EXPECT_OK(get(&flags, pool, &place));
    EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  }
  const CUdeviceptr p = take(pool, 64);
  EXPECT_OK(driver()(calls::MemsetD8{p, 1, 64}));
  EXPECT_OK(driver()(calls::MemFree{p}));
  EXPECT_OK(driver()(calls::MemPoolDestroy{pool}));
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
  ASSERT_OK(get_default(&of_device, &at_device, kManaged));
  ASSERT_OK(get(&of_none, &nowhere, kManaged));
  EXPECT_NE(of_none, of_device);
  EXPECT_OK(driver()(calls::DeviceGetDefaultMemPool{&pool, 0}));
  EXPECT_NE(pool, of_device) << "that is pinned";
  EXPECT_EQ(get(&pool, &nowhere, CU_MEM_ALLOCATION_TYPE_PINNED), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver()(calls::MemPoolDestroy{of_none}), CUDA_ERROR_INVALID_VALUE);
  const CUdeviceptr p = take(of_none, 64);
  EXPECT_OK(driver()(calls::MemsetD8{p, 1, 64}));
  EXPECT_OK(driver()(calls::MemFreeAsync{p, nullptr}));
  ASSERT_OK(create(props(kDevice), &mine));
  EXPECT_EQ(set(&at_device, CU_MEM_ALLOCATION_TYPE_PINNED, mine), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set(&at_host, kManaged, mine), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(set(&at_device, kManaged, mine));
  EXPECT_OK(get(&pool, &at_device, kManaged));
  EXPECT_EQ(pool, mine);
  EXPECT_OK(driver()(calls::MemPoolDestroy{mine}));
  EXPECT_OK(get(&pool, &at_device, kManaged));
  EXPECT_EQ(pool, of_device) << "the default again";
}

// With several devices: the default pool of the host belongs to no device, and copies need no
// access.
TEST_F(ManagedPool, MemoryOfTheHostsDefaultPoolIsCopied) {
  auto* get_default = symbol<CUresult(CUmemoryPool*, CUmemLocation*, CUmemAllocationType)>(
      "cuMemGetDefaultMemPool");
  CUmemLocation host = location(kHost);
  CUmemoryPool pool = nullptr;
  ASSERT_OK(get_default(&pool, &host, CU_MEM_ALLOCATION_TYPE_PINNED));
  const CUdeviceptr p = take(pool, 64);
  CUdeviceptr plain = 0;
  ASSERT_OK(driver()(calls::MemAlloc{&plain, 64}));
  EXPECT_OK(driver()(calls::MemcpyAsync{plain, p, 64, nullptr}));
  EXPECT_OK(driver()(calls::MemFree{plain}));
  EXPECT_OK(driver()(calls::MemFreeAsync{p, nullptr}));
}

class ManagedBatch : public ManagedPool {
 protected:
  using Prefetch = CUresult(CUdeviceptr*, std::size_t*, std::size_t, CUmemLocation*, std::size_t*,
                            std::size_t, unsigned long long, CUstream);
  using Discard = CUresult(CUdeviceptr*, std::size_t*, std::size_t, unsigned long long, CUstream);
  void SetUp() override {
    ManagedPool::SetUp();
    ASSERT_OK(create(props(kNone), &pool_));
    for (std::size_t i = 0; i < 3; ++i) addresses_[i] = take(pool_, sizes_[i]);
    ASSERT_OK(symbol<CUresult(CUstream*, unsigned)>("cuStreamCreate")(&stream_, 0));
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
    EXPECT_OK(prefetch(addresses_, sizes_, 3, locations_, first_, 2, 0, stream_));
    EXPECT_EQ(last(0), 1);
    EXPECT_EQ(last(1), 1);
    EXPECT_EQ(last(2), CU_DEVICE_CPU);
    EXPECT_OK(prefetch(addresses_, sizes_, 3, locations_ + 1, first_, 1, 0, stream_));
    EXPECT_EQ(last(0), CU_DEVICE_CPU);
  }
  auto* discard = symbol<Discard>("cuMemDiscardBatchAsync");
  EXPECT_OK(discard(addresses_, sizes_, 3, 0, stream_));
  EXPECT_EQ(discard(addresses_, sizes_, 3, 1, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(discard(addresses_, sizes_, 3, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  auto* of_thread = symbol<Discard>("cuMemDiscardBatchAsync_ptsz");
  EXPECT_OK(of_thread(addresses_, sizes_, 3, 0, nullptr)) << "not the legacy stream";
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
  ASSERT_OK(driver()(calls::MemAlloc{&plain, 64}));
  std::swap(plain, addresses_[1]);
  EXPECT_EQ(tried(3, 1, stream_), CUDA_ERROR_INVALID_VALUE) << "not managed";
  std::swap(plain, addresses_[1]);
  EXPECT_OK(driver()(calls::MemFree{plain}));
}

TEST_F(ManagedPool, TellsWhereThePiecesOfItsMemoryLie) {
  constexpr std::size_t kPiece = 1 << 20;
  CUmemoryPool pool = nullptr;
  ASSERT_OK(create(props(kNone), &pool));
  const CUdeviceptr p = take(pool, 2 * kPiece + 1);
  CUmemLocation places[4];
  const auto ask = [&](CUdeviceptr at, std::size_t size) {
    for (CUmemLocation& place : places) place = location(99, 99);
    return driver()(calls::MemGetLocationInfo{at, size, kPiece, 0, places});
  };
  *reinterpret_cast<volatile char*>(p + kPiece) = 1;
  ASSERT_OK(ask(p, 2 * kPiece + 1));
  EXPECT_EQ(static_cast<int>(places[0].type), kNone) << "nobody touched it";
  EXPECT_EQ(static_cast<int>(places[1].type), kHost);
  EXPECT_EQ(static_cast<int>(places[2].type), kNone) << "the last piece is shorter";
  EXPECT_EQ(static_cast<int>(places[3].type), 99) << "there are three";
  auto* prefetch = symbol<CUresult(CUdeviceptr, std::size_t, CUmemLocation, unsigned, CUstream)>(
      "cuMemPrefetchAsync_v2");
  ASSERT_OK(prefetch(p, kPiece, location(kDevice, 1), 0, nullptr));
  ASSERT_OK(ask(p, kPiece));
  EXPECT_EQ(static_cast<int>(places[0].type), kDevice);
  EXPECT_EQ(places[0].id, 1);
  EXPECT_EQ(ask(p, 3 * kPiece), CUDA_ERROR_INVALID_VALUE) << "beyond its end";
  EXPECT_OK(driver()(calls::MemFreeAsync{p, nullptr}));
  EXPECT_EQ(ask(p, kPiece), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(driver()(calls::MemPoolDestroy{pool}));
}

TEST_F(ManagedPool, TellsOfSystemMemoryToo) {
  std::vector<char> own(1 << 20, 1);
  CUmemLocation place = location(99);
  const auto ask = [&](CUdeviceptr at) {
    return driver()(calls::MemGetLocationInfo{at, own.size(), own.size(), 0, &place});
  };
  EXPECT_OK(ask(reinterpret_cast<CUdeviceptr>(own.data())));
  EXPECT_EQ(static_cast<int>(place.type), kHost);
  CUdeviceptr plain = 0;
  ASSERT_OK(driver()(calls::MemAlloc{&plain, own.size()}));
  EXPECT_EQ(ask(plain), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(driver()(calls::MemFree{plain}));
  void* locked = nullptr;
  ASSERT_OK(driver()(calls::MemAllocHost{&locked, own.size()}));
  EXPECT_EQ(ask(reinterpret_cast<CUdeviceptr>(locked)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(driver()(calls::MemFreeHost{locked}));
  EXPECT_EQ(ask(0x1000), CUDA_ERROR_INVALID_VALUE) << "nothing is there";
}

}  // namespace
}  // namespace cuvmm::emulator::testing
