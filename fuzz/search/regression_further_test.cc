// SPDX-License-Identifier: Apache-2.0
// Programs with calls of is_further() that once disagreed, as the shrinker left them.
#include "fuzz/machine/machines.h"

namespace cuvmm::fuzz {
namespace {

// The emulator took what was imported through a pool for memory that may be managed.
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

// The same of memory that outlives its pool.
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

}  // namespace
}  // namespace cuvmm::fuzz
