// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "api/location.h"
#include "api/newer/pools.h"
#include "rulebook/testing/world.h"

namespace cuvmm::testing::check_allocation_test {
namespace {

Handle out;

Violations create(World& w, CUmemAllocationProp prop, std::uint64_t size = kGranule,
                  unsigned long long flags = 0, std::uint64_t free_memory = ~0ull) {
  Facts facts;
  facts.unicast.granularity = kGranule;
  facts.unicast.free_memory = free_memory;
  return check(w.model,
               calls::MemCreate{.handle = &out, .size = size, .prop = &prop, .flags = flags},
               facts);
}

Violations granularity(World& w, CUmemAllocationProp prop, unsigned option = 0) {
  std::size_t g = 0;
  return check(w.model, calls::MemGetAllocationGranularity{
                            .granularity = &g,
                            .prop = &prop,
                            .option = static_cast<CUmemAllocationGranularity_flags>(option)});
}

CUmemAllocationProp at(int type, int id, unsigned handle_types = 0) {
  CUmemAllocationProp prop = device_prop(id, handle_types);
  prop.location.type = static_cast<CUmemLocationType>(type);
  return prop;
}

/// Memory of a domain of device 1; each device has two.
CUmemAllocationProp localized(World& w, int domain = 1) {
  w.model.platform().locality_domains = {2, 2};
  w.model.platform().localized_rdma_known = true;
  CUmemAllocationProp prop = device_prop();
  prop.location = domain_location(1, domain);
  return prop;
}

bool (*const kAllClosed)(const Export&) = [](const Export&) { return false; };

std::vector<RuleCase> cases() {
  return {
      {Rule::kCreateLocationType,  // a location that only pools of other processes have
       [](World& w, bool broken) {
         return create(w, broken ? at(kLocationInvisible, kDeviceInvalid) : at(1, 0));
       }},
      {Rule::kCreateLocationType,  // a driver from before locality domains
       [](World& w, bool broken) {
         w.model.platform().driver_version = broken ? 13030 : 13040;
         return create(w, localized(w));
       }},
      {Rule::kCreateLocalizedRdma,  // legal if RDMA reaches memory in domains of this device
       [](World& w, bool broken) {
         CUmemAllocationProp prop = localized(w);
         prop.allocFlags.gpuDirectRDMACapable = 1;
         w.model.platform().localized_rdma = broken ? 0b01 : 0b10;
         return create(w, prop);
       }},
      {Rule::kCreateLocalizedRdma,  // legal if the device has one domain, which is the whole device
       [](World& w, bool broken) {
         CUmemAllocationProp prop = localized(w, 0);
         prop.allocFlags.gpuDirectRDMACapable = 1;
         w.model.platform().locality_domains = {2, broken ? 2 : 1};
         return create(w, prop);
       }},
      {Rule::kCreateMultinode,
       [](World& w, bool broken) {
         Platform& platform = w.model.platform();
         platform.handle_types = 9;
         platform.fabric_channel = platform.host_multinode_known = true;
         platform.host_multinode = !broken;
         return create(w, at(3, 0, 8));
       }},
      {Rule::kCreateFabricChannel,
       [](World& w, bool broken) {
         w.model.platform().handle_types = 9;
         w.model.platform().fabric_channel = !broken;
         return create(w, device_prop(0, 8));
       }},

      {Rule::kReleasePairing,  // a second release while a mapping keeps the memory alive
       [](World& w, bool broken) {
         const Handle h = w.mapped(kBase, 1);
         if (broken) w.release(h);
         return check(w.model, calls::MemRelease{.handle = h});
       }},
      {Rule::kCreateLeak,
       [](World& w, bool broken) {
         const Handle h = w.mapped(kBase, 1);
         w.retain(h);
         w.release(h);
         w.unmap(kBase, 1);
         if (!broken) w.release(h);
         return check_exit(w.model, kAllClosed);
       }},
      {Rule::kRetainLeak,
       [](World& w, bool broken) {
         const Handle h = w.mapped(kBase, 1);
         w.retain(h);
         w.retain(h);
         w.release(h);
         w.unmap(kBase, 1);
         if (!broken) {
           w.release(h);
           w.release(h);
         }
         return check_exit(w.model, kAllClosed);
       }},

  };
}
const ListedCases kListed(cases);

// The bits that a driver of 13.4 accepts, and that an older program never sets.
TEST(Localized, NothingIsSaidOfWhatIsNotKnown) {
  World w;
  CUmemAllocationProp prop = device_prop();
  prop.location = domain_location(0, 200);
  prop.allocFlags.gpuDirectRDMACapable = 1;
  EXPECT_TRUE(create(w, prop).empty()) << "nobody knows how many domains the device has";
  prop.allocFlags.usage = kUsageRdmaOverPcie;
  EXPECT_TRUE(create(w, prop).empty());
  EXPECT_TRUE(granularity(w, prop).empty());
}

TEST(Localized, MemoryOfADomainIsItsDevices) {
  World w;
  w.reserve(kBase, 1);
  w.create(0x100, 1, localized(w));
  w.map(kBase, 1, 0x100);
  const auto access = [&](CUmemLocation place) {
    const CUmemAccessDesc desc{place, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    return check(w.model,
                 calls::MemSetAccess{.ptr = kBase, .size = kGranule, .desc = &desc, .count = 1});
  };
  EXPECT_TRUE(access(make_location(kLocationDevice, 1)).empty());
  EXPECT_TRUE(access(domain_location(1, 0)).empty());
  w.model.platform().reach = {0b01, 0b11};
  const Violations peer = access(make_location(kLocationDevice, 0));
  ASSERT_EQ(peer.size(), 1u);
  EXPECT_EQ(peer[0].rule, Rule::kAccessPeer);
  EXPECT_NE(peer[0].message.find("locality domain 1 of device 1"), std::string::npos)
      << peer[0].message;
  w.model.platform().driver_version = 13030;
  EXPECT_EQ(access(domain_location(1, 0))[0].rule, Rule::kAccessLocationType);
}

TEST(Localized, AccessOfADomainIsTheDevices) {
  World w;
  w.reserve(kBase, 1);
  w.create(0x100, 1, device_prop(1));
  w.map(kBase, 1, 0x100);
  const CUmemAccessDesc desc{domain_location(1, 1), CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  w.accept(calls::MemSetAccess{.ptr = kBase, .size = kGranule, .desc = &desc, .count = 1});
  EXPECT_EQ(w.model.mapping_at(kBase)->access.write, 0b10u);
}

}  // namespace
}  // namespace cuvmm::testing::check_allocation_test
