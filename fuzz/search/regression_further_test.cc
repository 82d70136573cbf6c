// SPDX-License-Identifier: Apache-2.0
// Programs with calls of is_further() that disagreed once, as the shrinker left them.
#include "fuzz/search/testing_machine.h"

namespace cuvmm::fuzz {
namespace {

// The emulator took memory imported through a pool for memory that may be managed.
TEST(FuzzRegression, MemoryThatWasImportedThroughAPoolIsNotPrefetched) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
o2 = cuMemPoolCreate({allocType=pinned, handleTypes=posix_fd, location=device0})
r5 = cuMemAllocFromPoolAsync(2M, o2)
d1 = cuMemPoolExportToShareableHandle(o2, posix_fd)
o3 = cuMemPoolImportFromShareableHandle(d1, posix_fd)
s1 = cuMemPoolExportPointer(r5)
r8 = cuMemPoolImportPointer(o3, s1)
cuMemPrefetchAsync_v2(r8, 2M, device0)
cuMemAdvise_v2(r8, 2M, 3, device0)
)"),
            "");
}

// The emulator did this also for memory that outlives its pool.
TEST(FuzzRegression, MemoryThatOutlivesItsPoolIsNotAdvised) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
o2 = cuMemPoolCreate({allocType=pinned, location=device0})
r2 = cuMemAllocFromPoolAsync(2M, o2)
cuMemPoolDestroy(o2)
cuMemAdvise_v2(r2, 2M, 1, device0)
cuMemPrefetchAsync_v2(r2, 2M, host)
)"),
            "");
}

// The end of a program trims the memory that a default pool keeps.
TEST(FuzzRegression, WhatADefaultPoolKeepsComesBack) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
o1 = cuDeviceGetDefaultMemPool(0)
r4 = cuMemAllocFromPoolAsync(2M, o1)
cuMemPoolSetAttribute(o1, release_threshold, 78M)
)"),
            "");
}

// The shim left no free space behind memory that must not begin where it does.
TEST(FuzzRegression, UnalignedMemoryAtTheEndOfAMulticastObjectIsWithinIt) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
h4 = cuMulticastCreate({numDevices=1, size=4M})
cuMulticastBindAddr(h4, 2M, 4K, 2M)
)"),
            "");
}

// A mapping past the end of its reservation, which an H200 accepts, stays when that place is
// reserved.
TEST(FuzzRegression, AReservationUnderTheEndOfAMappingEndsNothing) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
r1 = cuMemAddressReserve(6M)
h6 = cuMulticastCreate({numDevices=1, size=4M})
cuMulticastAddDevice(h6, 0)
cuMemMap(r1+4M, 4M, h6)
r3 = cuMemAddressReserve(6M)
cuMemMap(r3, 2M, h6)
)"),
            "");
}

// A place's current pool is at first its default pool, even if the program never asked for the
// default pool by its own function. The test tries every kind of place.
TEST(FuzzRegression, ThePoolThatAPlaceHasAtFirstIsItsDefaultOne) {
  for (const char* place : {"device0", "device1", "host", "host_numa0"}) {
    EXPECT_EQ(disagreement(std::string("cuvmm-program 1\ninit()\no7 = cuMemGetMemPool(") + place +
                           R"(, pinned)
cuMemPoolDestroy(o7)
r1 = cuMemAllocFromPoolAsync(2M, o7)
s1 = cuMemPoolExportPointer(r1)
d1 = cuMemPoolExportToShareableHandle(o7, posix_fd)
cuMemPoolSetAccess(o7, [device0:rw])
cuMemsetD8(r1, 0, 16)
cuMemcpyDtoD(r1, r1, 16)
b1 = host(16)
cuMemcpyDtoH(b1, r1, 16)
cuMemcpyHtoD(r1, b1, 16)
cuMemSetMemPool(device2, pinned, o7)
cuMemPoolSetAccess(o7, [device0:none])
cuMemsetD8(r1, 0, 16)
cuMemFree(r1)
)"),
              "")
        << place;
  }
}

// A question of the shim fails here, so that the shim does not know that the pool is the host's.
TEST(FuzzRegression, TheHostsAccessToItsDefaultPoolIsNoMistakeWhereTheShimKnowsLess) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
o1 = cuMemGetMemPool(host, pinned)  # CUDA_SUCCESS
cuMemPoolSetAccess(o1, [device0:none, host:rw])  # CUDA_SUCCESS
)"),
            "");
}

TEST(FuzzRegression, APlaceGoesBackToItsDefaultPool) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
o1 = cuMemPoolCreate({allocType=pinned, location=host_numa0})
cuMemSetMemPool(host_numa0, pinned, o1)
o2 = cuMemGetMemPool(host_numa0, pinned)
cuMemPoolDestroy(o2)
o3 = cuMemGetMemPool(host_numa0, pinned)
cuMemPoolDestroy(o3)
r1 = cuMemAllocFromPoolAsync(2M, o3)
b1 = host(16)
cuMemcpyDtoH(b1, r1, 16)
)"),
            "");
}

// The judge demanded data-inside of a shim that need not know that the memory is not managed.
TEST(FuzzRegression, APrefetchPastTheEndOfAMappedBufferMayHaveNoFinding) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
h1 = cuMemCreate(2M, device=0, handle_types=posix_fd)
d2 = cuMemExportToShareableHandle(h1, posix_fd)
x1 = cuImportExternalMemory({type=opaque_fd, fd=d2, size=2M})
r7 = cuExternalMemoryGetMappedBuffer(x1, {offset=0, size=2M})
cuMemPrefetchAsync_v2(r7, 4M, device0)
)"),
            "");
}

// The shim had no finding for a region that leaves a level of the mip tail.
TEST(FuzzRegression, ARegionStaysInALevelOfTheTail) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
m2 = cuMipmappedArrayCreate({width=64, height=64, depth=2, format=1, channels=1, flags=65}, 1)
cuMemMapArrayAsync([{resourceType=1, array=m2, layer=1, extentWidth=192, extentHeight=64, extentDepth=1, operation=2, deviceBitMask=1}])
)"),
            "");
}

// The shim took a multicast object, which lies on no device, for memory of another one.
TEST(FuzzRegression, AMulticastObjectForTilesLiesOnNoDevice) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
h1 = cuMulticastCreate({numDevices=1, size=2M})
cuMemMapArrayAsync([{resourceType=0, array=null, extentDepth=1, operation=1, memHandle=h1, deviceBitMask=1}])
)"),
            "");
}

// The shim explained a prefetch, which only managed memory has, by the access to the pool.
TEST(FuzzRegression, APrefetchOfPoolMemoryIsNotAboutAccess) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
o2 = cuMemPoolCreate({allocType=pinned, location=device1})
r4 = cuMemAllocFromPoolAsync(2M, o2)
cuMemPoolDestroy(o2)
cuMemPrefetchAsync_v2(r4, 2M, device0)
)"),
            "");
}

// The answer to the second descriptor was taken for one to the first, whose rule has another code.
TEST(FuzzRegression, AnObservedCodeExplainsNoOther) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
o3 = cuMemPoolCreate({allocType=pinned, handleTypes=posix_fd, location=device1})
d1 = cuMemPoolExportToShareableHandle(o3, posix_fd)
o4 = cuMemPoolImportFromShareableHandle(d1, posix_fd)
cuMemPoolSetAccess(o4, [device0:none, host_numa7:rw])
)"),
            "");
}

// The flush is refused, and the answer says nothing about the pool.
TEST(FuzzRegression, ARefusedFlushSaysNothingAboutAPool) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
o2 = cuMemPoolCreate({allocType=pinned, location=device0})
r5 = cuMemAllocFromPoolAsync(2M, o2)
cuStreamBatchMemOp(2, [{operation=2, address=r5, value=0}, {operation=3}])
)"),
            "");
}

}  // namespace
}  // namespace cuvmm::fuzz
