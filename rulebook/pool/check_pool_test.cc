// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <iterator>

#include "api/newer/pools.h"
#include "rulebook/testing/pool_world.h"

namespace cuvmm::testing::check_pool_test {
namespace {

using namespace pool_world;

using Answer = Facts::Answer;

CUmemPoolProps managed_props() {
  CUmemPoolProps p = props(0);
  p.allocType = kManagedMemory;
  return p;
}
/// Older headers have no names for some of the bytes.
void set_byte(CUmemPoolProps& p, std::size_t at, unsigned char value) {
  reinterpret_cast<unsigned char*>(&p)[at] = value;
}

Violations create(World& w, const CUmemPoolProps& p) {
  return check(w.model, calls::MemPoolCreate{.pool = &pool_out, .poolProps = &p});
}
/// A create whose properties `change` alters if `broken`.
template <class Change>
Violations create(World& w, bool broken, Change change) {
  CUmemPoolProps p = props();
  if (broken) change(p);
  return create(w, p);
}

Violations alloc(World& w, CUmemoryPool pool, Facts facts = {}, std::size_t size = 64,
                 CUdeviceptr* out = &pointer_out) {
  return check(w.model, calls::MemAllocFromPoolAsync{.dptr = out, .bytesize = size, .pool = pool},
               facts);
}
Violations set_access(World& w, CUmemoryPool pool, CUmemAccessDesc desc = access_desc(),
                      bool null = false) {
  return check(w.model,
               calls::MemPoolSetAccess{.pool = pool, .map = null ? nullptr : &desc, .count = 1});
}
Violations set_pool(World& w, CUmemoryPool pool, int device = 0) {
  return check(w.model, calls::DeviceSetMemPool{.dev = device, .pool = pool});
}
Violations at_exit(World& w) {
  return check_exit(w.model, [](const Export&) { return false; });
}

std::vector<RuleCase> cases() {
  return {
      {Rule::kPoolCreateLocationType,  // only managed memory may have the location type NONE
       [](World& w, bool broken) {
         CUmemPoolProps p = props(0);
         p.allocType = static_cast<CUmemAllocationType>(broken ? 1 : 2);
         p.location.type = static_cast<CUmemLocationType>(0);
         return create(w, p);
       }},
      {Rule::kPoolCreateHostHandleTypes,  // legal for managed memory, whatever place it prefers
       [](World& w, bool broken) {
         CUmemPoolProps p = props(broken ? 1 : 0);
         p.allocType = static_cast<CUmemAllocationType>(2);
         return create(w, p);
       }},
      {Rule::kPoolSetLocal,  // a managed pool belongs to no device, whatever place it prefers
       [](World& w, bool broken) {
         CUmemPoolProps p = props(0);
         p.allocType = static_cast<CUmemAllocationType>(broken ? 2 : 1);
         made(w, p);
         return set_pool(w, kPool);
       }},
      {Rule::kPoolAccessOwn,  // no device owns a managed pool
       [](World& w, bool broken) {
         CUmemPoolProps p = props(0);
         p.allocType = static_cast<CUmemAllocationType>(broken ? 1 : 2);
         made(w, p);
         return set_access(w, kPool, access_desc(0, 0));
       }},
      {Rule::kPoolCreateFabric,
       [](World& w, bool broken) {
         w.model.platform().handle_types = 9;
         return create(w, props(broken ? 8 : 1));
       }},
      {Rule::kPoolCreateReserved,  // the byte that became gpuDirectRDMACapable in CUDA 13.4
       [](World& w, bool broken) {
         w.model.platform().driver_version = broken ? 13030 : 13040;
         return create(w, true, [](auto& p) { set_byte(p, 34, 1); });
       }},
      {Rule::kPoolCreateLocationType,  // a location that only pools of other processes have
       [](World& w, bool broken) {
         return create(w, broken, [](auto& p) {
           p.location = make_location(kLocationInvisible, kDeviceInvalid);
         });
       }},
      {Rule::kPoolCreateLocationType,  // a driver from before locality domains
       [](World& w, bool broken) {
         w.model.platform().driver_version = broken ? 13030 : 13040;
         return create(w, true, [](auto& p) { p.location = domain_location(1, 1); });
       }},
      {Rule::kPoolCreateManagedSupported,
       [](World& w, bool broken) {
         w.model.platform().managed_known = true;
         w.model.platform().managed = !broken;
         return create(w, managed_props());
       }},
      {Rule::kPoolCreateMultinode,
       [](World& w, bool broken) {
         Platform& platform = w.model.platform();
         platform.handle_types = 9;
         platform.fabric_channel = platform.host_multinode_known = true;
         platform.host_multinode = !broken;
         CUmemPoolProps p = props(8);
         p.location = make_location(kLocationHostNuma, 0);
         return create(w, p);
       }},
      {Rule::kPoolAccessOwn,  // the device of the pool's domain
       [](World& w, bool broken) {
         CUmemPoolProps p = props(0);
         p.location = domain_location(1, 1);
         made(w, p);
         return set_access(w, kPool, access_desc(0, broken ? 1 : 0));
       }},
      {Rule::kPoolLeak,
       [](World& w, bool broken) {
         have(w);
         allocate(w);
         if (broken) w.accept(calls::MemFreeAsync{.dptr = kMemory});
         return at_exit(w);
       }},
      {Rule::kPoolMemoryLeak,
       [](World& w, bool broken) {
         have(w);
         allocate(w);
         destroy(w);
         if (!broken) w.accept(calls::MemFreeAsync{.dptr = kMemory});
         return at_exit(w);
       }},
      {Rule::kPoolMemoryLeak,  // while the pool is alive, its memory is no leak
       [](World& w, bool broken) {
         have(w);
         allocate(w);
         if (broken) destroy(w);
         return at_exit(w);
       }},
      CUVMM_POOL_CASES(PoolDestroy,
                       [](World& w, CUmemoryPool pool) { return destroy_check(w, pool); }),
      CUVMM_POOL_CASES(PoolAlloc, [](World& w, CUmemoryPool pool) { return alloc(w, pool); }),
      CUVMM_POOL_CASES(PoolAccess, [](World& w, CUmemoryPool pool) { return set_access(w, pool); }),
      {Rule::kPoolAccessOwn,  // a default pool's device
       [](World& w, bool broken) {
         Facts facts;
         facts.pool.is_default = Answer::kYes;
         facts.pool.default_device = broken ? 1 : 0;
         const CUmemAccessDesc desc = access_desc(0, 1);
         return check(w.model, calls::MemPoolSetAccess{.pool = kPool, .map = &desc, .count = 1},
                      facts);
       }},
      {Rule::kPoolAccessLocationType,  // the host's access to memory on the host
       [](World& w, bool broken) {
         CUmemPoolProps p = props(0);
         p.location.type = CU_MEM_LOCATION_TYPE_HOST;
         made(w, p);
         return set_access(w, kPool, access_desc(broken ? 0 : 3, 0, 2));
       }},
      CUVMM_POOL_CASES(PoolSet, [](World& w, CUmemoryPool pool) { return set_pool(w, pool); }),
  };
}
const ListedCases kListed(cases);

TEST(PoolModel, ARefusedFreeKeepsTheMemory) {
  World w;
  have(w);
  allocate(w);
  const calls::MemFreeAsync call{.dptr = kMemory};
  w.refuse(call);
  EXPECT_NE(w.model.pools().memory_at(kMemory + 1), nullptr);
  EXPECT_EQ(w.model.pools().taken_from(reinterpret_cast<std::uintptr_t>(kPool)), 1u);
}

TEST(PoolModel, MemoryOfTheOneDeviceIsOfItsCurrentPool) {
  World w;
  have(w);
  w.accept(calls::DeviceSetMemPool{.dev = 0, .pool = kPool});
  CUdeviceptr out = kMemory;
  const calls::MemAllocAsync call{.dptr = &out, .bytesize = 4096};
  w.accept(call);
  EXPECT_EQ(w.model.pools().memory_at(kMemory)->pool, 0u) << "which of two devices nobody said";
  w.model.platform().device_count = 1;
  w.accept(call);
  EXPECT_EQ(w.model.pools().memory_at(kMemory)->pool, reinterpret_cast<std::uintptr_t>(kPool));
}

TEST(PoolModel, ADestroyedPoolIsNobodysCurrentPool) {
  World w;
  have(w);
  w.accept(calls::DeviceSetMemPool{.dev = 0, .pool = kPool});
  EXPECT_TRUE(at_exit(w).empty()) << "the current pool of a device is in use";
  destroy(w);
  EXPECT_TRUE(w.model.pools().current().empty());
}

TEST(PoolModel, ARefusedResetKeepsTheAccessOfADefaultPool) {
  World w;
  CUmemoryPool out = kPool;
  w.accept(calls::DeviceGetDefaultMemPool{.pool_out = &out, .dev = 0});
  CUmemAccessDesc desc = access_desc(3, 1);
  const calls::MemPoolSetAccess give{.pool = kPool, .map = &desc, .count = 1};
  w.accept(give);
  const Pool* const pool = w.model.pools().find(reinterpret_cast<std::uintptr_t>(kPool));
  ASSERT_NE(pool, nullptr);
  EXPECT_EQ(pool->access, 2u);
  const calls::DevicePrimaryCtxReset reset{.dev = 0};
  w.refuse(reset);
  EXPECT_EQ(pool->access, 2u);
  w.accept(reset);
  EXPECT_EQ(pool->access, ~std::uint64_t{0}) << "nobody knows whether the pool forgets it";
}

// The pool may be the host's default pool; the driver may not have answered whether it is.
TEST(PoolModel, TheHostsAccessToAPoolOfUnknownPlaceIsUncertain) {
  World w;
  w.model.platform().complete = false;
  const CUmemAccessDesc host = access_desc(3, 0, 2);
  const calls::MemPoolSetAccess call{.pool = pool_of(0x999), .map = &host, .count = 1};
  const auto certain = [&](const Facts& facts) {
    for (const Violation& v : check(w.model, call, facts)) {
      if (v.rule == Rule::kPoolAccessLocationType) return v.certain;
    }
    return false;
  };
  Facts facts;
  EXPECT_FALSE(certain(facts));
  facts.pool.is_default = Answer::kYes;
  facts.pool.default_device = 0;
  EXPECT_TRUE(certain(facts)) << "the memory lies on a device";
}

TEST(PoolModel, WhatWasNeverSeenIsUncertain) {
  World w;
  w.model.platform().complete = false;
  const Violations v = destroy_check(w, pool_of(0x999));
  ASSERT_EQ(v.size(), 1u);
  EXPECT_FALSE(v[0].certain) << v[0].message;
}

}  // namespace
}  // namespace cuvmm::testing::check_pool_test
