// SPDX-License-Identifier: Apache-2.0
// Stream-ordered pools within one process.
#include <unistd.h>

#include "api/location.h"
#include "emulator/testing.h"

namespace cuvmm::emulator::testing {
namespace {

CUmemPoolProps pool_props(unsigned handle_types = 0, int device = 0) {
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  props.location.id = device;
  props.handleTypes = static_cast<CUmemAllocationHandleType>(handle_types);
  return props;
}

class PoolTest : public EmulatorTest {
 protected:
  static constexpr std::size_t kChunk = std::size_t{32} << 20;

  static std::size_t free_memory() {
    std::size_t free = 0, total = 0;
    EXPECT_OK(driver()(calls::MemGetInfo{&free, &total}));
    return free;
  }
  static void keep(CUmemoryPool pool, cuuint64_t threshold) {
    EXPECT_OK(
        driver()(calls::MemPoolSetAttribute{pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold}));
  }
  static CUmemoryPool create(const CUmemPoolProps& props = pool_props()) {
    CUmemoryPool pool = nullptr;
    EXPECT_OK(driver()(calls::MemPoolCreate{&pool, &props}));
    return pool;
  }
  static CUresult take(CUmemoryPool pool, CUdeviceptr* out, std::size_t size = 4096) {
    return driver()(calls::MemAllocFromPoolAsync{out, size, pool, nullptr});
  }
  static CUresult destroy(CUmemoryPool pool) { return driver()(calls::MemPoolDestroy{pool}); }
  static CUresult free_async(CUdeviceptr address) {
    return driver()(calls::MemFreeAsync{address, nullptr});
  }
  static std::uint64_t used(CUmemoryPool pool) {
    auto* get = symbol<CUresult(CUmemoryPool, CUmemPool_attribute, void*)>("cuMemPoolGetAttribute");
    cuuint64_t bytes = ~0u;
    EXPECT_OK(get(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &bytes));
    return bytes;
  }
  static CUmemoryPool current(int device = 0) {
    CUmemoryPool pool = nullptr;
    EXPECT_OK(driver()(calls::DeviceGetMemPool{&pool, device}));
    return pool;
  }
  static CUmemoryPool default_of(int device = 0) {
    CUmemoryPool pool = nullptr;
    EXPECT_OK(driver()(calls::DeviceGetDefaultMemPool{&pool, device}));
    return pool;
  }
};

TEST_F(PoolTest, MemoryComesAndGoesInProgramOrder) {
  const CUmemoryPool pool = create();
  CUdeviceptr one = 0, two = 0;
  ASSERT_OK(take(pool, &one));
  ASSERT_OK(take(pool, &two, 100));
  EXPECT_EQ(used(pool), 4196u);
  EXPECT_OK(driver()(calls::MemsetD8{one, 1, 4096}));
  EXPECT_OK(free_async(one));
  EXPECT_EQ(free_async(one), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(used(pool), 100u);
  EXPECT_EQ(driver()(calls::MemsetD8{one, 1, 1}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(driver()(calls::MemFree{two})) << "cuMemFree ends it as well";
  EXPECT_OK(destroy(pool));
}

TEST_F(PoolTest, ADestroyedPoolLastsUntilItsMemoryIsFreed) {
  const CUmemoryPool pool = create();
  CUdeviceptr address = 0;
  ASSERT_OK(take(pool, &address));
  ASSERT_OK(destroy(pool));
  EXPECT_EQ(destroy(pool), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr other = 7;
  EXPECT_EQ(take(pool, &other), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(other, 0u) << "a driver writes that, too";
  EXPECT_OK(driver()(calls::MemsetD8{address, 1, 4096}));
  EXPECT_OK(free_async(address));
}

TEST_F(PoolTest, ADeviceHasADefaultPoolThatStays) {
  const CUmemoryPool pool = default_of();
  EXPECT_EQ(current(), pool);
  EXPECT_NE(default_of(1), pool);
  EXPECT_EQ(destroy(pool), CUDA_ERROR_INVALID_VALUE);
  // Other tests of this process may have freed memory of the pool by cuMemFree, which the pool
  // still counts as used.
  const std::uint64_t before = used(pool);
  CUdeviceptr address = 0;
  ASSERT_OK(driver()(calls::MemAllocAsync{&address, 64, nullptr}));
  EXPECT_EQ(used(pool), before + 64);
  CUmemoryPool of = nullptr;
  EXPECT_OK(
      driver()(calls::PointerGetAttribute{&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, address}));
  EXPECT_EQ(of, pool);
  EXPECT_OK(free_async(address));
  EXPECT_EQ(used(pool), before);
}

TEST_F(PoolTest, TheCurrentPoolServesPlainAllocations) {
  const CUmemoryPool pool = create();
  EXPECT_EQ(driver()(calls::DeviceSetMemPool{1, pool}), CUDA_ERROR_INVALID_VALUE) << "not local";
  ASSERT_OK(driver()(calls::DeviceSetMemPool{0, pool}));
  EXPECT_EQ(current(), pool);
  CUdeviceptr address = 0;
  ASSERT_OK(driver()(calls::MemAllocAsync{&address, 64, nullptr}));
  EXPECT_EQ(used(pool), 64u);
  EXPECT_OK(free_async(address));
  ASSERT_OK(destroy(pool));
  EXPECT_EQ(current(), default_of());
}

TEST_F(PoolTest, ItsMemoryIsTheDevices) {
  std::size_t before = 0, during = 0, after = 0, total = 0;
  const CUmemoryPool pool = create();
  CUdeviceptr address = 0;
  ASSERT_OK(driver()(calls::MemGetInfo{&before, &total}));
  ASSERT_OK(take(pool, &address, kGranule));
  ASSERT_OK(driver()(calls::MemGetInfo{&during, &total}));
  EXPECT_EQ(before - during, kGranule);
  EXPECT_EQ(take(pool, &address, total), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_OK(free_async(address));
  ASSERT_OK(driver()(calls::MemGetInfo{&after, &total}));
  EXPECT_EQ(before, after);
  EXPECT_OK(destroy(pool));
}

TEST_F(PoolTest, WhatItKeepsIsNobodyElses) {
  const CUmemoryPool pool = create();
  keep(pool, ~cuuint64_t{0});
  const std::size_t before = free_memory(), size = before / 2 / kChunk * kChunk;
  CUdeviceptr address = 0, other = 0;
  ASSERT_OK(take(pool, &address, size));
  EXPECT_EQ(before - free_memory(), size);
  ASSERT_OK(free_async(address));
  EXPECT_EQ(before - free_memory(), size) << "it is idle, and the pool's";
  EXPECT_EQ(driver()(calls::MemAlloc{&other, size + 4 * kChunk}), CUDA_ERROR_OUT_OF_MEMORY);
  const CUmemAllocationProp prop = properties();
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(driver()(calls::MemCreate{&handle, size + 4 * kChunk, &prop, 0}),
            CUDA_ERROR_OUT_OF_MEMORY);
  const CUmemoryPool second = create();
  EXPECT_EQ(take(second, &other, size + 4 * kChunk), CUDA_ERROR_OUT_OF_MEMORY);
  ASSERT_OK(take(pool, &address, size)) << "it serves the pool";
  EXPECT_EQ(before - free_memory(), size);
  ASSERT_OK(free_async(address));
  keep(pool, 0);
  EXPECT_EQ(before - free_memory(), size) << "it goes back by a free or a trim";
  ASSERT_OK(driver()(calls::MemPoolTrimTo{pool, kChunk}));
  EXPECT_EQ(before - free_memory(), kChunk);
  ASSERT_OK(take(second, &other, size + 4 * kChunk));
  EXPECT_OK(free_async(other));
  EXPECT_OK(destroy(pool));
  EXPECT_OK(destroy(second));
  EXPECT_EQ(free_memory(), before);
}

TEST_F(PoolTest, WhatIsAboveTheThresholdGoesBack) {
  const CUmemoryPool pool = create();
  keep(pool, 2 * kChunk);
  const std::size_t before = free_memory();
  CUdeviceptr one = 0, two = 0;
  ASSERT_OK(take(pool, &one, kChunk));
  ASSERT_OK(take(pool, &two, 4 * kChunk));
  ASSERT_OK(free_async(two));
  EXPECT_EQ(before - free_memory(), 2 * kChunk);
  ASSERT_OK(destroy(pool));
  EXPECT_EQ(before - free_memory(), kChunk) << "what it kept went with it";
  ASSERT_OK(free_async(one));
  EXPECT_EQ(free_memory(), before);
}

#if CUDA_VERSION >= 12080
TEST_F(PoolTest, ALimitHolds) {
  CUmemPoolProps props = pool_props();
  props.maxSize = 8192;
  const CUmemoryPool pool = create(props);
  CUdeviceptr one = 0, two = 0;
  // An H200 counts in chunks (recorded: 2 MiB fit into a pool of 4096 bytes).
  ASSERT_OK(take(pool, &one, kChunk - 8192));
  EXPECT_EQ(take(pool, &two, 8193), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_OK(take(pool, &two, 8192));
  EXPECT_OK(free_async(one));
  EXPECT_OK(free_async(two));
  EXPECT_OK(destroy(pool));
}
#endif

TEST_F(PoolTest, AccessIsKeptPerDevice) {
  auto* get =
      symbol<CUresult(CUmemAccess_flags*, CUmemoryPool, CUmemLocation*)>("cuMemPoolGetAccess");
  const CUmemoryPool pool = create();
  CUmemLocation own = make_location(CU_MEM_LOCATION_TYPE_DEVICE, 0),
                peer = make_location(CU_MEM_LOCATION_TYPE_DEVICE, 1);
  CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  EXPECT_OK(get(&flags, pool, &own));
  EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  EXPECT_OK(get(&flags, pool, &peer));
  EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
  const CUmemAccessDesc desc = access(1);
  EXPECT_OK(driver()(calls::MemPoolSetAccess{pool, &desc, 1}));
  EXPECT_OK(get(&flags, pool, &peer));
  EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  EXPECT_OK(destroy(pool));
}

// The function for the current pool and the function for the default pool return an equal pool.
TEST_F(PoolTest, ThePoolThatAPlaceHasAtFirstIsItsDefaultOne) {
  for (const int type : {kLocationHost, kLocationHostNuma}) {
    CUmemLocation place = make_location(type, 0);
    CUmemoryPool pool = nullptr;
    ASSERT_OK(driver()(calls::MemGetMemPool{&pool, &place, CU_MEM_ALLOCATION_TYPE_PINNED}));
    EXPECT_EQ(destroy(pool), CUDA_ERROR_INVALID_VALUE);
    CUdeviceptr memory = 0;
    ASSERT_OK(take(pool, &memory));
    const CUmemAccessDesc desc = access(0);
    EXPECT_OK(driver()(calls::MemPoolSetAccess{pool, &desc, 1}));
    EXPECT_OK(driver()(calls::MemsetD8{memory, 1, 16}));
    char bytes[16];
    EXPECT_EQ(driver()(calls::MemcpyDtoH{bytes, memory, 16}), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(driver()(calls::MemcpyDtoD{memory, memory, 16}), CUDA_ERROR_INVALID_VALUE);
    EXPECT_OK(free_async(memory));
  }
}

// As on an H200, which still knows the properties of the pool.
TEST_F(PoolTest, ADestroyedPoolIsStillLookedAt) {
  const CUmemoryPool gone = create();
  ASSERT_OK(destroy(gone));
  CUmemLocation own = make_location(CU_MEM_LOCATION_TYPE_DEVICE, 0),
                peer = make_location(CU_MEM_LOCATION_TYPE_DEVICE, 1);
  CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  EXPECT_OK(driver()(calls::MemPoolGetAccess{&flags, gone, &own}));
  EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  const auto set = [&](CUmemLocation& place) {
    return driver()(calls::MemSetMemPool{&place, CU_MEM_ALLOCATION_TYPE_PINNED, gone});
  };
  EXPECT_OK(set(own));
  EXPECT_EQ(current(), default_of()) << "accepted, and without effect";
  EXPECT_EQ(set(peer), CUDA_ERROR_INVALID_VALUE);
}

// An H100: so are kinds of places that do not exist, above the known ones.
TEST_F(PoolTest, InvisiblePlacesAreNotSupported) {
  CUmemLocation invisible = make_location(5, 0);
  CUmemoryPool pool = nullptr;
  calls::MemGetMemPool get{&pool, &invisible, CU_MEM_ALLOCATION_TYPE_PINNED};
  EXPECT_EQ(driver()(get), CUDA_ERROR_NOT_SUPPORTED);
  get.pool = nullptr;
  EXPECT_EQ(driver()(get), CUDA_ERROR_INVALID_VALUE);
  get.pool = &pool;
  invisible.type = static_cast<CUmemLocationType>(77);
  EXPECT_EQ(driver()(get), CUDA_ERROR_NOT_SUPPORTED);
  invisible.type = static_cast<CUmemLocationType>(0);
  EXPECT_EQ(driver()(get), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(PoolTest, OnlyAPoolMadeForItIsExported) {
  int fd = -1;
  const auto export_ = [&](CUmemoryPool pool) {
    return driver()(calls::MemPoolExportToShareableHandle{
        &fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0});
  };
  EXPECT_EQ(export_(default_of()), CUDA_ERROR_INVALID_VALUE);
  const CUmemoryPool plain = create();
  EXPECT_EQ(export_(plain), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(fd, -1);
  const CUmemoryPool pool = create(pool_props(1));
  ASSERT_OK(export_(pool));
  // A pool's descriptor cannot be imported as memory, nor memory's as a pool.
  const auto handle = reinterpret_cast<void*>(static_cast<std::intptr_t>(fd));
  CUmemGenericAllocationHandle memory = 0;
  EXPECT_NE(driver()(calls::MemImportFromShareableHandle{&memory, handle,
                                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR}),
            CUDA_SUCCESS);
  CUmemoryPool imported = nullptr;
  ASSERT_OK(driver()(calls::MemPoolImportFromShareableHandle{
      &imported, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0}));
  EXPECT_EQ(export_(imported), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr address = 0;
  EXPECT_EQ(take(imported, &address), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver()(calls::DeviceSetMemPool{0, imported}), CUDA_ERROR_INVALID_VALUE);
  close(fd);
  for (const CUmemoryPool each : {plain, pool, imported}) EXPECT_OK(destroy(each));
}

}  // namespace
}  // namespace cuvmm::emulator::testing
