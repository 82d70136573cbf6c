// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "api/newer/pools.h"
#include "rulebook/testing/world.h"

namespace cuvmm::testing::check_pool_attribute_test {
namespace {

const auto kPool = reinterpret_cast<CUmemoryPool>(std::uintptr_t{0x500});
const auto kOther = reinterpret_cast<CUmemoryPool>(std::uintptr_t{0x999});
alignas(8) unsigned char value_out[16];

void have(World& w) {
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = make_location(kLocationDevice, 0);
  CUmemoryPool out = kPool;
  w.accept(calls::MemPoolCreate{.pool = &out, .poolProps = &props});
}

Violations get(World& w, CUmemPool_attribute attribute = CU_MEMPOOL_ATTR_USED_MEM_CURRENT,
               void* value = value_out, CUmemoryPool pool = kPool) {
  return check(w.model,
               calls::MemPoolGetAttribute{.pool = pool, .attr = attribute, .value = value});
}
Violations put(World& w, CUmemPool_attribute attribute = CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
               void* value = value_out, CUmemoryPool pool = kPool) {
  return check(w.model,
               calls::MemPoolSetAttribute{.pool = pool, .attr = attribute, .value = value});
}
Violations trim(World& w, CUmemoryPool pool = kPool) {
  return check(w.model, calls::MemPoolTrimTo{.pool = pool, .minBytesToKeep = 0});
}
CUmemAccess_flags flags_out;
Violations seen(World& w, CUmemLocation place = make_location(kLocationDevice, 1),
                CUmemoryPool pool = kPool, bool null = false,
                CUmemAccess_flags* flags = &flags_out) {
  return check(w.model, calls::MemPoolGetAccess{
                            .flags = flags, .memPool = pool, .location = null ? nullptr : &place});
}

/// The two rules of every call that takes a pool: run(world, pool) performs its check.
#define CUVMM_ATTRIBUTE_CASES(Name, ...)                          \
  {Rule::k##Name##PoolValid,                                      \
   [](World& w, bool broken) {                                    \
     have(w);                                                     \
     const auto run = __VA_ARGS__;                                \
     return run(w, broken ? kOther : kPool);                      \
   }},                                                            \
  {                                                               \
    Rule::k##Name##PoolAlive, [](World& w, bool broken) {         \
      have(w);                                                    \
      if (broken) w.accept(calls::MemPoolDestroy{.pool = kPool}); \
      const auto run = __VA_ARGS__;                               \
      return run(w, kPool);                                       \
    }                                                             \
  }

std::vector<RuleCase> cases() {
  return {
      CUVMM_ATTRIBUTE_CASES(PoolGet,
                            [](World& w, CUmemoryPool pool) {
                              return get(w, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, value_out, pool);
                            }),
      {Rule::kPoolGetAttribute,  // newer than the driver
       [](World& w, bool broken) {
         have(w);
         w.model.platform().driver_version = broken ? 13010 : 13020;
         return get(w, kPoolAttributeLocationType);
       }},
      {Rule::kPoolGetAligned,
       [](World& w, bool broken) {
         have(w);
         return get(w, broken ? CU_MEMPOOL_ATTR_USED_MEM_HIGH : kPoolAttributeLocationId,
                    value_out + 4);
       }},
      CUVMM_ATTRIBUTE_CASES(PoolPut,
                            [](World& w, CUmemoryPool pool) {
                              return put(w, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, value_out, pool);
                            }),
      {Rule::kPoolPutAligned,
       [](World& w, bool broken) {
         have(w);
         return put(
             w,
             broken ? CU_MEMPOOL_ATTR_RELEASE_THRESHOLD : CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC,
             value_out + 4);
       }},
      CUVMM_ATTRIBUTE_CASES(PoolTrim, [](World& w, CUmemoryPool pool) { return trim(w, pool); }),
      CUVMM_ATTRIBUTE_CASES(PoolSeen,
                            [](World& w, CUmemoryPool pool) {
                              return seen(w, make_location(kLocationDevice, 0), pool);
                            }),
      {Rule::kPoolSeenLocationDevice,  // the device of a domain
       [](World& w, bool broken) {
         have(w);
         return seen(w, domain_location(broken ? 2 : 1, 1));
       }},
  };
}
const ListedCases kListed(cases);

TEST(PoolAttribute, AnAttributeThatIsNewerThanWeAreIsUncertain) {
  World w;
  have(w);
  w.model.platform().complete = false;
  const Violations v = get(w, static_cast<CUmemPool_attribute>(0xf + 1));
  ASSERT_EQ(v.size(), 1u);
  EXPECT_FALSE(v[0].certain) << v[0].message;
}

TEST(PoolAttribute, APoolThatTheDriverHandedOutIsKnown) {
  World w;
  CUmemoryPool out = kOther;
  w.accept(calls::DeviceGetDefaultMemPool{.pool_out = &out, .dev = 0});
  EXPECT_TRUE(trim(w, kOther).empty());
  EXPECT_TRUE(put(w, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, value_out, kOther).empty());
}

TEST(PoolAttribute, AnInvisiblePlaceIsCalledByItsName) {
  World w;
  have(w);
  const Violations v = seen(w, make_location(kLocationInvisible, kDeviceInvalid));
  ASSERT_EQ(v.size(), 1u);
  EXPECT_NE(v[0].message.find("INVISIBLE"), std::string::npos) << v[0].message;
}

}  // namespace
}  // namespace cuvmm::testing::check_pool_attribute_test
