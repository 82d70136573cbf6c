// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "api/location.h"
#include "api/newer/pools.h"
#include "rulebook/testing/world.h"

namespace cuvmm::testing::check_allocation_test {
namespace {

Handle out;
int metadata;

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

Violations properties(World& w, Handle handle) {
  CUmemAllocationProp prop;
  return check(w.model,
               calls::MemGetAllocationPropertiesFromHandle{.prop = &prop, .handle = handle});
}

CUmemAllocationProp with(void (*change)(CUmemAllocationProp&), bool broken) {
  CUmemAllocationProp prop = device_prop();
  if (broken) change(prop);
  return prop;
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
      {Rule::kCreateHandleNonnull,
       [](World& w, bool broken) {
         const auto prop = device_prop();
         return check(
             w.model,
             calls::MemCreate{.handle = broken ? nullptr : &out, .size = kGranule, .prop = &prop});
       }},
      {Rule::kCreatePropNonnull,
       [](World& w, bool broken) {
         const auto prop = device_prop();
         return check(
             w.model,
             calls::MemCreate{.handle = &out, .size = kGranule, .prop = broken ? nullptr : &prop});
       }},
      {Rule::kCreateSizeNonzero,
       [](World& w, bool broken) { return create(w, device_prop(), broken ? 0 : kGranule); }},
      {Rule::kCreateSizeGranularity,
       [](World& w, bool broken) {
         return create(w, device_prop(), broken ? kGranule + 4096 : 2 * kGranule);
       }},
      {Rule::kCreateFlagsZero,
       [](World& w, bool broken) { return create(w, device_prop(), kGranule, broken ? 1 : 0); }},
      {Rule::kCreateType,
       [](World& w, bool broken) {
         return create(w, with([](auto& p) { p.type = CU_MEM_ALLOCATION_TYPE_INVALID; }, broken));
       }},
      {Rule::kCreateLocationType,
       [](World& w, bool broken) { return create(w, at(broken ? 4 : 3, 0)); }},
      {Rule::kCreateLocationDevice,
       [](World& w, bool broken) { return create(w, device_prop(broken ? 2 : 1)); }},
      {Rule::kCreateLocationDevice,
       [](World& w, bool broken) { return create(w, device_prop(broken ? -1 : 0)); }},
      {Rule::kCreateLocationType,  // a location that only pools of other processes have
       [](World& w, bool broken) {
         return create(w, broken ? at(kLocationInvisible, kDeviceInvalid) : at(1, 0));
       }},
      {Rule::kCreateLocationType,  // a driver from before locality domains
       [](World& w, bool broken) {
         w.model.platform().driver_version = broken ? 13030 : 13040;
         return create(w, localized(w));
       }},
      {Rule::kCreateLocationDevice,
       [](World& w, bool broken) {
         CUmemAllocationProp prop = localized(w);
         prop.location = domain_location(broken ? 2 : 1, 1);
         return create(w, prop);
       }},
      {Rule::kCreateLocationDomain,
       [](World& w, bool broken) { return create(w, localized(w, broken ? 2 : 1)); }},
      {Rule::kCreatePcieRdma,
       [](World& w, bool broken) {
         CUmemAllocationProp prop = localized(w);
         prop.allocFlags.usage = kUsageRdmaOverPcie;
         prop.allocFlags.gpuDirectRDMACapable = broken ? 0 : 1;
         return create(w, prop);
       }},
      {Rule::kCreateUsageKnown,
       [](World& w, bool broken) {
         w.model.platform().driver_version = broken ? 13030 : 13040;
         CUmemAllocationProp prop = device_prop();
         prop.allocFlags.usage = kUsageRdmaOverPcie;
         prop.allocFlags.gpuDirectRDMACapable = 1;
         return create(w, prop);
       }},
      {Rule::kCreateLocalizedRdma,
       [](World& w, bool broken) {
         CUmemAllocationProp prop = localized(w);
         prop.allocFlags.gpuDirectRDMACapable = 1;
         prop.allocFlags.usage = broken ? 0 : kUsageRdmaOverPcie;
         return create(w, prop);
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
      {Rule::kCreateNumaNode,
       [](World& w, bool broken) { return create(w, at(3, broken ? 7 : 0)); }},
      {Rule::kCreateNumaNode,
       [](World& w, bool broken) { return create(w, at(3, broken ? -1 : 0)); }},
      {Rule::kCreateHostHandleTypes,
       [](World& w, bool broken) { return create(w, at(2, 0, broken ? 1 : 0)); }},
      {Rule::kCreateHostPlain,
       [](World& w, bool broken) {
         CUmemAllocationProp prop = broken ? at(2, 0) : device_prop();
         prop.allocFlags.compressionType = 1;
         return create(w, prop);
       }},
      {Rule::kCreateHostPlain,
       [](World& w, bool broken) {
         CUmemAllocationProp prop = at(3, 0);
         prop.allocFlags.gpuDirectRDMACapable = broken;
         return create(w, prop);
       }},
      {Rule::kCreateTilePoolPrivate,
       [](World& w, bool broken) {
         CUmemAllocationProp prop = device_prop(0, 1);
         prop.allocFlags.usage = broken ? 1 : 2;
         return create(w, prop);
       }},
      {Rule::kCreateHandleTypesKnown,
       [](World& w, bool broken) { return create(w, device_prop(0, broken ? 17 : 1)); }},
      {Rule::kCreateHandleTypesSupported,
       [](World& w, bool broken) { return create(w, device_prop(0, broken ? 3 : 1)); }},
      {Rule::kCreateFabricChannel,
       [](World& w, bool broken) {
         w.model.platform().handle_types = 9;
         w.model.platform().fabric_channel = !broken;
         return create(w, device_prop(0, 8));
       }},
      {Rule::kCreateWin32Metadata,
       [](World& w, bool broken) {
         return create(w, with([](auto& p) { p.win32HandleMetaData = &metadata; }, broken));
       }},
      {Rule::kCreateCompression,
       [](World& w, bool broken) {
         auto prop = device_prop();
         prop.allocFlags.compressionType = broken ? 2 : 1;
         return create(w, prop);
       }},
      {Rule::kCreateRdmaBoolean,
       [](World& w, bool broken) {
         auto prop = device_prop();
         prop.allocFlags.gpuDirectRDMACapable = broken ? 2 : 1;
         return create(w, prop);
       }},
      {Rule::kCreateUsageKnown,
       [](World& w, bool broken) {
         auto prop = device_prop();
         prop.allocFlags.usage = broken ? 0x80 : 3;
         return create(w, prop);
       }},
      {Rule::kCreateReservedZero,
       [](World& w, bool broken) {
         return create(w, with([](auto& p) { p.allocFlags.reserved[0] = 1; }, broken));
       }},
      {Rule::kCreateReservedTailZero,
       [](World& w, bool broken) {
         return create(w, with([](auto& p) { p.allocFlags.reserved[3] = 1; }, broken));
       }},
      {Rule::kCreateFits,
       [](World& w, bool broken) {
         return create(w, device_prop(), 2 * kGranule, 0, (broken ? 1 : 2) * kGranule);
       }},

      {Rule::kReleaseHandleNonzero,
       [](World& w, bool broken) {
         const Handle h = w.create(0x100, 1);
         return check(w.model, calls::MemRelease{.handle = broken ? 0 : h});
       }},
      {Rule::kReleaseHandleValid,
       [](World& w, bool broken) {
         const Handle h = w.create(0x100, 1);
         return check(w.model, calls::MemRelease{.handle = broken ? 0x1234 : h});
       }},
      {Rule::kReleasePairing,
       [](World& w, bool broken) {
         const Handle h = w.create(0x100, 1);
         if (!broken) w.retain(h);
         w.release(h);
         return check(w.model, calls::MemRelease{.handle = h});
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

      {Rule::kPropertiesPropNonnull,
       [](World& w, bool broken) {
         CUmemAllocationProp prop;
         return check(w.model, calls::MemGetAllocationPropertiesFromHandle{
                                   .prop = broken ? nullptr : &prop, .handle = w.create(0x100, 1)});
       }},
      {Rule::kPropertiesHandleNonzero,
       [](World& w, bool broken) { return properties(w, broken ? 0 : w.create(0x100, 1)); }},
      {Rule::kPropertiesHandleValid,
       [](World& w, bool broken) { return properties(w, broken ? 0x1234 : w.create(0x100, 1)); }},
      {Rule::kPropertiesHandleAlive,
       [](World& w, bool broken) {
         const Handle h = w.create(0x100, 1);
         if (broken) w.release(h);
         return properties(w, h);
       }},
      {Rule::kPropertiesHandleReferenced,
       [](World& w, bool broken) {
         const Handle h = w.mapped(kBase, 1);
         w.release(h);
         if (!broken) w.retain(h);
         return properties(w, h);
       }},
      {Rule::kRetainHandleNonnull,
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         return check(w.model,
                      calls::MemRetainAllocationHandle{.handle = broken ? nullptr : &out,
                                                       .addr = reinterpret_cast<void*>(kBase)});
       }},
      {Rule::kRetainAddrMapped,
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         const Address addr = kBase + kGranule - (broken ? 0 : 1);
         return check(w.model, calls::MemRetainAllocationHandle{
                                   .handle = &out, .addr = reinterpret_cast<void*>(addr)});
       }},
      {Rule::kGranularityOutNonnull,
       [](World& w, bool broken) {
         std::size_t g = 0;
         const auto prop = device_prop();
         return check(w.model, calls::MemGetAllocationGranularity{
                                   .granularity = broken ? nullptr : &g, .prop = &prop});
       }},
      {Rule::kGranularityPropNonnull,
       [](World& w, bool broken) {
         std::size_t g = 0;
         const auto prop = device_prop();
         return check(w.model, calls::MemGetAllocationGranularity{
                                   .granularity = &g, .prop = broken ? nullptr : &prop});
       }},
      {Rule::kGranularityOption,
       [](World& w, bool broken) { return granularity(w, device_prop(), broken ? 2 : 1); }},
      {Rule::kGranularityPropValid,
       [](World& w, bool broken) { return granularity(w, device_prop(broken ? 99 : 1)); }},
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
