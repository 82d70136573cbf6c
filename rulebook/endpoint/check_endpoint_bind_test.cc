// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "rulebook/testing/endpoint_world.h"

namespace cuvmm::testing::check_endpoint_bind_test {
namespace {

Violations bind_address_to(World& w, Address address, CUlogicalEndpointId id = kUnicast,
                           std::uint64_t granules = 1) {
  return check(w.model, calls::LogicalEndpointBindAddr{.leId = id,
                                                       .dev = 0,
                                                       .offset = 0,
                                                       .ptr = reinterpret_cast<void*>(address),
                                                       .size = granules * kGranule});
}

// Two granules of a pool.
constexpr Address kPooled = 0x7100'0000'0000;
void pool_memory(World& w, int device = 0, unsigned handle_types = 0) {
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = device_prop(device).location;
  props.handleTypes = static_cast<CUmemAllocationHandleType>(handle_types);
  auto pool = reinterpret_cast<CUmemoryPool>(std::uintptr_t{0x7000});
  w.accept(calls::MemPoolCreate{.pool = &pool, .poolProps = &props});
  CUdeviceptr memory = kPooled;
  w.accept(calls::MemAllocFromPoolAsync{.dptr = &memory, .bytesize = 2 * kGranule, .pool = pool});
}

calls::LogicalEndpointUnbind unbind_call(std::uint64_t granule = 0, std::uint64_t granules = 2) {
  return {.leId = kUnicast, .dev = 0, .offset = granule * kGranule, .size = granules * kGranule};
}

// Two bindings of a granule each, one behind the other.
template <class Change>
Violations unbind_from(World& w, bool broken, Change change) {
  endpoints(w);
  for (const std::uint64_t granule : {0, 1}) {
    calls::LogicalEndpointBindMem call = endpoint_bind();
    call.offset = call.memOffset = granule * kGranule;
    w.accept(call);
  }
  calls::LogicalEndpointUnbind call = unbind_call();
  if (broken) change(call);
  return check(w.model, call);
}

std::vector<RuleCase> cases() {
  return {
      {Rule::kEpBindReady,  // a query answered that the endpoint is not ready
       [](World& w, bool broken) {
         reserve_ids(w);
         create_endpoint(w, kUnicast, unicast_prop());
         w.create(kEndpointMemory, 2);
         query(w, kUnicast, broken ? 0 : 1);
         return check(w.model, endpoint_bind());
       }},
      {Rule::kEpBindMemoryAligned,  // by address
       [](World& w, bool broken) {
         endpoints(w);
         w.reserve(kBase, 2);
         w.map(kBase, 2, kEndpointMemory);
         return bind_address_to(w, kBase + (broken ? 4096 : 0));
       }},
      {Rule::kEpBindMemoryKind,  // memory of a pool may be bound, by its address
       [](World& w, bool broken) {
         endpoints(w);
         pool_memory(w);
         return bind_address_to(w, kPooled + (broken ? 2 : 1) * kGranule);
       }},
      {Rule::kEpBindDevice,  // a device that was not added
       [](World& w, bool broken) {
         reserve_ids(w);
         create_endpoint(w, kTeam, team_prop(1));
         add_to_endpoint(w, kTeam, 0);
         query(w, kTeam);
         w.create(0x200, 1, device_prop(broken ? 1 : 0));
         calls::LogicalEndpointBindMem call = endpoint_bind(kTeam);
         call.dev = broken ? 1 : 0;
         call.memHandle = 0x200;
         return check(w.model, call);
       }},
      {Rule::kEpBindShareable,  // memory of a pool
       [](World& w, bool broken) {
         endpoints(w, 1, 1);
         pool_memory(w, 0, broken ? 0 : 1);
         return bind_address_to(w, kPooled, kTeam);
       }},

      {Rule::kEpUnbindExact,  // a range that ends in the middle of a binding
       [](World& w, bool broken) {
         endpoints(w);
         w.accept(endpoint_bind(kUnicast, 2));
         return check(w.model, unbind_call(0, broken ? 1 : 2));
       }},
  };
}
const ListedCases kListed(cases);

using ::testing::IsEmpty;

TEST(EndpointUnbind, OneOfTwoBindingsIsUnboundAlone) {
  World w;
  EXPECT_THAT(unbind_from(w, true, [](auto& c) { c.size = kGranule; }), IsEmpty());
  World other;
  EXPECT_THAT(unbind_from(other, true,
                          [](auto& c) {
                            c.offset = kGranule;
                            c.size = kGranule;
                          }),
              IsEmpty());
}

TEST(EndpointBinding, TheMemoryThatEndedHoldsNoPlace) {
  World w;
  endpoints(w);
  w.accept(endpoint_bind());
  w.release(kEndpointMemory);
  w.create(0x200, 2);
  calls::LogicalEndpointBindMem call = endpoint_bind();
  call.memHandle = 0x200;
  EXPECT_THAT(check(w.model, call), IsEmpty());
}

TEST(EndpointBinding, MemoryOfANumaNodeMayBeNextToTheDevice) {
  World w;
  endpoints(w);
  CUmemAllocationProp prop = device_prop();
  prop.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
  w.create(0x200, 1, prop);
  calls::LogicalEndpointBindMem call = endpoint_bind();
  call.memHandle = 0x200;
  EXPECT_THAT(check(w.model, call), IsEmpty());
}

TEST(EndpointCertaintyOfBinds, AnImportMayBeOfEitherKind) {
  World w;
  w.model.platform().complete = false;
  reserve_ids(w);
  import_endpoint(w, kUnicast, 0);
  query(w, kUnicast);
  w.create(kEndpointMemory, 2, device_prop(0, 1));
  const Violations found = check(w.model, endpoint_bind());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rule, Rule::kEpBindImported);
  EXPECT_FALSE(found[0].certain);
}

}  // namespace
}  // namespace cuvmm::testing::check_endpoint_bind_test
