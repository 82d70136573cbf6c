// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "api/newer/pools.h"
#include "rulebook/testing/world.h"

namespace cuvmm::testing::check_current_pool_test {
namespace {

const auto kPool = reinterpret_cast<CUmemoryPool>(std::uintptr_t{0x500});
const auto kDefault = reinterpret_cast<CUmemoryPool>(std::uintptr_t{0x700});
const auto kOther = reinterpret_cast<CUmemoryPool>(std::uintptr_t{0x999});
constexpr CUmemAllocationType kPinned = CU_MEM_ALLOCATION_TYPE_PINNED;
CUmemoryPool pool_out;

CUmemLocation device(int ordinal) { return make_location(kLocationDevice, ordinal); }

void have(World& w, CUmemLocation place = device(0), CUmemAllocationType type = kPinned,
          unsigned handle_types = 0) {
  CUmemPoolProps props{};
  props.allocType = type;
  props.location = place;
  props.handleTypes = static_cast<CUmemAllocationHandleType>(handle_types);
  CUmemoryPool out = kPool;
  w.accept(calls::MemPoolCreate{.pool = &out, .poolProps = &props});
}

enum class Which { kDefault, kCurrent, kSet };

/// Asks each of the three calls with a location the same question.
template <Which which>
Violations at(World& w, CUmemLocation place, CUmemAllocationType type = kPinned, bool null = false,
              CUmemoryPool* out = &pool_out) {
  CUmemLocation* location = null ? nullptr : &place;
  if constexpr (which == Which::kDefault) {
    return check(w.model,
                 calls::MemGetDefaultMemPool{.pool_out = out, .location = location, .type = type});
  } else if constexpr (which == Which::kCurrent) {
    return check(w.model, calls::MemGetMemPool{.pool = out, .location = location, .type = type});
  } else {
    const bool valid = type == kPinned || type == kManagedMemory;
    have(w, place, valid ? type : kPinned);
    return check(w.model, calls::MemSetMemPool{.location = location, .type = type, .pool = kPool});
  }
}
Violations set(World& w, CUmemLocation place, CUmemoryPool pool = kPool,
               CUmemAllocationType type = kPinned) {
  return check(w.model, calls::MemSetMemPool{.location = &place, .type = type, .pool = pool});
}

/// `name` is the beginning of the rules' names. Each device has the two domains.
#define CUVMM_PLACE_CASES(name, which)                                                             \
  {Rule::k##name##Location,                                                                        \
   [](World& w, bool broken) { return at<which>(w, device(0), kPinned, broken); }},                \
      {Rule::k##name##Type,                                                                        \
       [](World& w, bool broken) {                                                                 \
         return at<which>(w, device(0), static_cast<CUmemAllocationType>(broken ? 0 : 1));         \
       }},                                                                                         \
      {Rule::k##name##LocationType,                                                                \
       [](World& w, bool broken) {                                                                 \
         return at<which>(w, make_location(broken ? kLocationHostNumaCurrent : kLocationHost, 0)); \
       }},                                                                                         \
      {Rule::k##name##LocationType, /* nowhere is for managed memory */                            \
       [](World& w, bool broken) {                                                                 \
         return at<which>(w, make_location(kLocationNone, 0), broken ? kPinned : kManagedMemory);  \
       }},                                                                                         \
      {Rule::k##name##LocationType, /* and a domain is not */                                      \
       [](World& w, bool broken) {                                                                 \
         return at<which>(w, domain_location(0, 1), broken ? kManagedMemory : kPinned);            \
       }},                                                                                         \
      {Rule::k##name##LocationDevice,                                                              \
       [](World& w, bool broken) { return at<which>(w, device(broken ? 2 : 1)); }},                \
      {Rule::k##name##LocationDevice,                                                              \
       [](World& w, bool broken) {                                                                 \
         w.model.platform().locality_domains = {2, 2};                                             \
         return at<which>(w, domain_location(1, broken ? 2 : 1));                                  \
       }},                                                                                         \
  {                                                                                                \
    Rule::k##name##LocationNode, [](World& w, bool broken) {                                       \
      return at<which>(w, make_location(kLocationHostNuma, broken ? 1 : 0));                       \
    }                                                                                              \
  }

std::vector<RuleCase> cases() {
  return {
      CUVMM_PLACE_CASES(PlaceDefault, Which::kDefault),
      CUVMM_PLACE_CASES(PlaceCurrent, Which::kCurrent),
      CUVMM_PLACE_CASES(PlaceSet, Which::kSet),
      {Rule::kPlaceSetMatches,  // another domain of the same device
       [](World& w, bool broken) {
         have(w, domain_location(0, 1));
         return set(w, domain_location(0, broken ? 0 : 1));
       }},
      {Rule::kPlaceSetMatches,  // the only domain of a device is the device
       [](World& w, bool broken) {
         w.model.platform().locality_domains = {broken ? 2 : 1, 2};
         have(w, domain_location(0, 0));
         return set(w, device(0));
       }},
      {Rule::kPlaceSetMatches,  // a default pool that was handed out
       [](World& w, bool broken) {
         CUmemoryPool out = kDefault;
         w.accept(calls::DeviceGetDefaultMemPool{.pool_out = &out, .dev = 0});
         return set(w, device(broken ? 1 : 0), kDefault);
       }},
  };
}
const ListedCases kListed(cases);

std::vector<Rule> rules_of(const Violations& violations) {
  std::vector<Rule> found;
  for (const Violation& v : violations) found.push_back(v.rule);
  return found;
}

std::uint64_t value(CUmemoryPool pool) { return reinterpret_cast<std::uintptr_t>(pool); }

TEST(CurrentPool, ADefaultPoolIsNotDestroyedAndNotExported) {
  World w;
  CUmemoryPool out = kDefault;
  w.accept(calls::DeviceGetDefaultMemPool{.pool_out = &out, .dev = 1});
  EXPECT_EQ(rules_of(check(w.model, calls::MemPoolDestroy{.pool = kDefault})),
            std::vector{Rule::kPoolDestroyDefault});
  int fd = -1;
  EXPECT_EQ(rules_of(check(w.model,
                           calls::MemPoolExportToShareableHandle{
                               .handle_out = &fd,
                               .pool = kDefault,
                               .handleType = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                               .flags = 0})),
            std::vector{Rule::kPoolExportType});
  EXPECT_TRUE(check_exit(w.model, [](const Export&) { return false; }).empty())
      << "nobody has to destroy it";
}

TEST(CurrentPool, WhatServesADeviceIsKnown) {
  World w;
  EXPECT_EQ(w.model.pools().current_of(0), 0u);
  CUmemoryPool out = kDefault;
  w.accept(calls::DeviceGetDefaultMemPool{.pool_out = &out, .dev = 0});
  EXPECT_EQ(w.model.pools().current_of(0), value(kDefault));
  have(w);
  CUmemLocation place = device(0);
  w.accept(calls::MemSetMemPool{.location = &place, .type = kPinned, .pool = kPool});
  EXPECT_EQ(w.model.pools().current_of(0), value(kPool));
  EXPECT_EQ(w.model.pools().current_of(1), 0u);
  w.accept(calls::MemPoolDestroy{.pool = kPool});
  EXPECT_EQ(w.model.pools().current_of(0), value(kDefault)) << "it goes back to its default pool";
}

TEST(CurrentPool, APoolThatTheDriverDescribesIsKnown) {
  World w;
  w.model.platform().complete = false;
  CUmemoryPool out = kOther;
  const calls::DeviceGetMemPool call{.pool = &out, .dev = 1};
  w.accept(call);  // an older driver does not tell the pool's place
  EXPECT_TRUE(check(w.model, calls::DeviceSetMemPool{.dev = 0, .pool = kOther}).empty());
  Facts facts;
  facts.pool.location = device(1);
  facts.pool.handle_types = 1;
  w.accept(call, facts);
  const Violations v = check(w.model, calls::DeviceSetMemPool{.dev = 0, .pool = kOther});
  EXPECT_EQ(rules_of(v), std::vector{Rule::kPoolSetLocal});
  EXPECT_TRUE(check_exit(w.model, [](const Export&) { return false; }).empty())
      << "it is another's to destroy";
  // cuvmm did not see which settings the pool's maker made.
  CUdeviceptr memory = kBase;
  w.accept(calls::MemAllocFromPoolAsync{.dptr = &memory, .bytesize = 64, .pool = kOther});
  CUmemPoolPtrExportData data{};
  EXPECT_TRUE(
      check(w.model, calls::MemPoolExportPointer{.shareData_out = &data, .ptr = kBase}).empty());
  Facts elsewhere;
  elsewhere.place.device = 0;
  EXPECT_TRUE(
      check_data(w, calls::MemsetD8{.dstDevice = kBase, .uc = 1, .N = 64}, elsewhere).empty());
}

TEST(CurrentPool, AnInvisiblePoolIsNobodysOwn) {
  World w;
  CUmemoryPool out = kOther;
  calls::MemPoolImportFromShareableHandle call{};
  call.pool_out = &out;
  Facts facts;
  facts.pool.location = make_location(kLocationInvisible, kDeviceInvalid);
  w.accept(call, facts);
  const CUmemAccessDesc none = access_desc(0, 0);
  EXPECT_TRUE(
      check(w.model, calls::MemPoolSetAccess{.pool = kOther, .map = &none, .count = 1}).empty());
}

TEST(CurrentPool, WhatADefaultPoolWasGivenStaysWhenItIsNamed) {
  World w;
  Facts facts;
  facts.pool.is_default = Facts::Answer::kYes;
  facts.pool.default_device = 0;
  const CUmemAccessDesc peer = access_desc(3, 1);
  w.accept(calls::MemPoolSetAccess{.pool = kDefault, .map = &peer, .count = 1}, facts);
  CUmemoryPool out = kDefault;
  w.accept(calls::DeviceGetDefaultMemPool{.pool_out = &out, .dev = 0});
  const Pool* pool = w.model.pools().find(kDefault);
  ASSERT_NE(pool, nullptr);
  EXPECT_EQ(pool->access, 2u);
}

}  // namespace
}  // namespace cuvmm::testing::check_current_pool_test
