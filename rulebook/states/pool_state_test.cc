// SPDX-License-Identifier: Apache-2.0
#include "rulebook/states/pool_state.h"

#include <gtest/gtest.h>

#include "rulebook/testing/pool_world.h"

namespace cuvmm::testing {
namespace {

using namespace pool_world;

const PoolMemory* live(const World& w) { return w.model.pools().memory_at(kMemory); }
bool none_open(const Export&) { return false; }

// An H100 was asked: after the last release, and after a reset, of the primary context.
TEST(PoolState, MemoryOutlivesThePrimaryContext) {
  World w;
  have(w, 0, false);
  allocate(w);
  ASSERT_NE(live(w), nullptr);
  EXPECT_EQ(live(w)->outlived.call, 0u);
  w.accept(calls::DevicePrimaryCtxReset{.dev = 0});
  ASSERT_NE(live(w), nullptr);
  EXPECT_EQ(live(w)->outlived.call, 3u);
  EXPECT_TRUE(check_exit(w.model, none_open).empty());
  w.accept(calls::MemFree{.dptr = kMemory});
  EXPECT_EQ(live(w), nullptr);
  EXPECT_TRUE(w.model.tombstones().find(ObjectRef::Kind::kPoolMemory, kMemory).has_value());
}

TEST(PoolState, AnotherDevicesContextAndARefusedEndChangeNothing) {
  World w;
  have(w, 0, false);
  allocate(w);
  w.accept(calls::DevicePrimaryCtxReset{.dev = 1});
  w.refuse(calls::DevicePrimaryCtxReset{.dev = 0});
  w.accept(calls::CtxDestroy{.ctx = reinterpret_cast<CUcontext>(std::uintptr_t{7})});
  ASSERT_NE(live(w), nullptr);
  EXPECT_EQ(live(w)->outlived.call, 0u);
}

// Memory of cuMemAllocAsync, whose device cuvmm does not ask for.
TEST(PoolState, MemoryOfAnUnknownDeviceMayBeAnotherDevices) {
  for (const int devices : {1, 2}) {
    World w;
    w.model.platform().device_count = devices;
    CUdeviceptr out = kMemory;
    w.accept(calls::MemAllocAsync{.dptr = &out, .bytesize = 4096});
    w.accept(calls::DevicePrimaryCtxReset{.dev = 0});
    ASSERT_NE(live(w), nullptr);
    EXPECT_EQ(live(w)->outlived.call != 0, devices == 1);
  }
}

TEST(PoolState, MemoryIsLeftWhenItsPoolIsDestroyedBehindTheContext) {
  World w;
  have(w, 0, false);
  allocate(w);
  w.accept(calls::DevicePrimaryCtxRelease{.dev = 0});
  destroy(w);
  const Violations left = check_exit(w.model, none_open);
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left.front().rule, Rule::kPoolMemoryLeak);
}

// Nobody knows whether a pool without memory lives on.
TEST(PoolState, AnEmptyPoolIsNoLeakBehindTheContext) {
  World w;
  have(w, 0, false);
  EXPECT_EQ(check_exit(w.model, none_open).size(), 1u);
  w.accept(calls::DevicePrimaryCtxReset{.dev = 0});
  EXPECT_TRUE(check_exit(w.model, none_open).empty());
}

TEST(PoolState, ARangeThatTheDriverGivesOutAgainHasEnded) {
  for (const Address base : {kMemory, kMemory - 4096, kMemory + 64}) {
    World w;
    have(w, 0, false);
    allocate(w);
    w.accept(calls::DevicePrimaryCtxReset{.dev = 0});
    CUdeviceptr out = base;
    w.accept(calls::MemAlloc{.dptr = &out, .bytesize = 8192});
    EXPECT_EQ(live(w), nullptr);
    EXPECT_TRUE(w.model.pools().consistent());
  }
  World beside;
  have(beside, 0, false);
  allocate(beside);
  beside.accept(calls::DevicePrimaryCtxReset{.dev = 0});
  CUdeviceptr out = kMemory + 4096;
  beside.accept(calls::MemAlloc{.dptr = &out, .bytesize = 8192});
  EXPECT_NE(live(beside), nullptr);
}

TEST(PoolState, ImportedMemoryIsUnknownBehindTheContext) {
  World w;
  have_imported(w);
  CUdeviceptr out = kMemory;
  calls::MemPoolImportPointer call{};
  call.ptr_out = &out;
  call.pool = kImported;
  w.accept(call);
  ASSERT_NE(live(w), nullptr);
  w.accept(calls::DevicePrimaryCtxReset{.dev = 0});
  EXPECT_EQ(live(w), nullptr);
}

}  // namespace
}  // namespace cuvmm::testing
