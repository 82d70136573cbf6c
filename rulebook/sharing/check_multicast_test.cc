// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "rulebook/testing/multicast_world.h"

namespace cuvmm::testing::check_multicast_test {
namespace {

Handle handle_out;
std::size_t size_out;

CUmulticastObjectProp object_prop() {
  CUmulticastObjectProp prop{};
  prop.numDevices = 2;
  prop.size = 4 * kGranule;
  return prop;
}

template <class Change>
Violations create(World& w, Change change, Handle* out = &handle_out,
                  std::uint64_t recommended = kGranule) {
  CUmulticastObjectProp prop = object_prop();
  change(prop);
  Facts facts;
  facts.multicast.granularity = kGranule;
  facts.multicast.recommended = recommended;
  return check(w.model, calls::MulticastCreate{.mcHandle = out, .prop = &prop}, facts);
}

template <class Change>
Violations granularity(World& w, Change change, std::size_t* out = &size_out, unsigned option = 0) {
  CUmulticastObjectProp prop = object_prop();
  change(prop);
  return check(w.model, calls::MulticastGetGranularity{
                            .granularity = out,
                            .prop = &prop,
                            .option = static_cast<CUmulticastGranularity_flags>(option)});
}
constexpr auto kAsIs = [](CUmulticastObjectProp&) {};

Violations add(World& w, Handle object, int device) {
  return check(w.model, calls::MulticastAddDevice{.mcHandle = object, .dev = device});
}

/// The object mapped at kBase, for device 0.
void mapped_object(World& w) {
  ready(w);
  w.reserve(kBase, 4);
  w.map(kBase, 4, kObject);
  w.access(kBase, 4);
}
Violations map(World& w, std::uint64_t offset, std::uint64_t granules) {
  w.reserve(kBase, 8);
  return check(w.model,
               calls::MemMap{
                   .ptr = kBase, .size = granules * kGranule, .offset = offset, .handle = kObject});
}

// An object for devices 0 and 1. Its granularity is known, because this process made it.
void created_object(World& w) {
  Handle out = kObject;
  CUmulticastObjectProp prop = object_prop();
  Facts facts;
  facts.multicast.granularity = kGranule;
  w.accept(calls::MulticastCreate{.mcHandle = &out, .prop = &prop}, facts);
  w.add(kObject, 0);
  w.add(kObject, 1);
}

std::vector<RuleCase> cases() {
  return {
      {Rule::kMcCreateSupported,
       [](World& w, bool broken) {
         w.model.platform().multicast = broken ? 0 : 0b10;
         return create(w, kAsIs);
       }},
      {Rule::kMcCreateSizeRecommended,
       [](World& w, bool broken) {
         return create(
             w, [&](auto& p) { p.size -= broken ? kGranule : 0; }, &handle_out, 4 * kGranule);
       }},
      {Rule::kMcCreateLeak,
       [](World& w, bool broken) {
         w.multicast(kObject);
         if (!broken) w.release(kObject);
         return check_exit(w.model, [](const Export&) { return false; });
       }},

      {Rule::kMcAddSupported,
       [](World& w, bool broken) {
         w.model.platform().multicast = 0b01;
         return add(w, w.multicast(kObject), broken ? 1 : 0);
       }},
      {Rule::kMcAddClique,
       [](World& w, bool broken) {
         w.model.platform().cliques = {{{CU_CLIQUE_TYPE_MULTICAST_POINTER, 1}},
                                       {{CU_CLIQUE_TYPE_MULTICAST_POINTER, broken ? 2u : 1u}}};
         w.multicast(kObject);
         w.add(kObject, 0);
         return add(w, kObject, 1);
       }},

      {Rule::kMcAllAdded,  // the check of a mapping
       [](World& w, bool broken) {
         w.multicast(kObject, broken ? 2 : 1);
         w.add(kObject, 0);
         return map(w, 0, 4);
       }},

      {Rule::kMcGranularityPropValid,
       [](World& w, bool broken) {
         return granularity(w, [&](auto& p) {
           p.size = 24576;  // the size need not be rounded
           p.flags = broken;
         });
       }},

      {Rule::kMapPtrAligned,  // the object's granularity counts if that of reservations is unknown
       [](World& w, bool broken) {
         w.model.platform().reserve_granularity = 0;
         created_object(w);
         w.reserve(kBase, 8);
         return check(w.model, calls::MemMap{.ptr = kBase + (broken ? 4096 : 0),
                                             .size = 4 * kGranule,
                                             .handle = kObject});
       }},
      {Rule::kAccessHostLocation,  // taking away access that the host does not have is legal
       [](World& w, bool broken) {
         mapped_object(w);
         const CUmemAccessDesc desc = access_desc(broken ? 3 : 0, 0, 2);
         return check(w.model, calls::MemSetAccess{
                                   .ptr = kBase, .size = 4 * kGranule, .desc = &desc, .count = 1});
       }},
  };
}
const ListedCases kListed(cases);

using ::testing::IsEmpty;

bool certain(const Violations& violations, Rule rule) {
  for (const Violation& v : violations) {
    if (v.rule == rule) return v.certain;
  }
  ADD_FAILURE() << info(rule).id << " did not fire";
  return false;
}

TEST(MulticastCertainty, ATeamThatOthersMayCompleteIsUncertain) {
  World w;
  w.model.platform().complete = false;
  w.multicast(kObject, 2, 4, 1);
  w.add(kObject, 0);
  w.create(kMemory, 2, device_prop(0, 1));
  EXPECT_TRUE(certain(check(w.model, bind_call()), Rule::kMcAllAdded));
  w.export_fd(kObject, 9);
  EXPECT_FALSE(certain(check(w.model, bind_call()), Rule::kMcAllAdded));
  EXPECT_FALSE(certain(add(w, kObject, 1), Rule::kMcAddUnique));
  EXPECT_TRUE(certain(add(w, kObject, 0), Rule::kMcAddUnique)) << "this process added it";
  Facts facts;  // the driver sees all processes, so it knows
  facts.multicast.team = 0b11;
  EXPECT_THAT(check(w.model, bind_call(), facts), IsEmpty());
  facts.multicast.team = 0b01;
  EXPECT_TRUE(certain(check(w.model, bind_call(), facts), Rule::kMcAllAdded));
}

TEST(MulticastCertainty, AnImportMayBeAnything) {
  World w;
  w.model.platform().complete = false;
  w.import(kObject, 4);
  EXPECT_FALSE(certain(add(w, kObject, 0), Rule::kMcHandleKind));
  w.add(kObject, 0);  // the driver accepted it, so it is a multicast object
  w.create(kMemory, 2, device_prop(0, 1));
  EXPECT_FALSE(certain(check(w.model, bind_call()), Rule::kMcAllAdded));
  calls::MulticastUnbind nothing = unbind_call();
  EXPECT_FALSE(certain(check(w.model, nothing), Rule::kMcUnbindBound));
}

TEST(MulticastModel, ARefusedReleaseKeepsWhatItWouldHaveEnded) {
  World w;
  ready(w);
  w.bind(kObject, 0, kMemory, 2);
  for (const Handle handle : {kObject, kMemory}) {
    w.refuse(calls::MemRelease{.handle = handle});
    ASSERT_NE(w.model.multicast(kObject), nullptr);
    EXPECT_EQ(w.model.multicast(kObject)->bindings.size(), 1u);
    EXPECT_EQ(w.model.multicast(kObject)->added, 0b11u);
  }
  w.refuse(unbind_call());
  EXPECT_EQ(w.model.multicast(kObject)->bindings.size(), 1u);
  w.accept(unbind_call());
  EXPECT_THAT(w.model.multicast(kObject)->bindings, IsEmpty());
}

TEST(MulticastModel, TheMemoryTakesItsBindingsWithIt) {
  World w;
  ready(w);
  w.bind(kObject, 0, kMemory, 2);
  w.release(kMemory);
  EXPECT_THAT(w.model.multicast(kObject)->bindings, IsEmpty());
  w.create(kMemory, 2);
  EXPECT_THAT(check(w.model, bind_call()), IsEmpty());
  w.release(kObject);
  EXPECT_EQ(w.model.multicast(kObject), nullptr);
}

TEST(MulticastModel, AHandleThatComesBackAsMemoryIsMemory) {
  World w;
  w.multicast(kObject);
  w.create(kObject, 1);
  EXPECT_EQ(w.model.multicast(kObject), nullptr);
}

TEST(MulticastModel, AWriteToTheRestOfTheObjectIsBoundOnItsOwn) {
  World w;
  mapped_object(w);
  for (int device : {0, 1}) {
    const Handle first = w.create(0x500 + static_cast<Handle>(device), 1, device_prop(device));
    w.bind(kObject, 0, first, 1);
    w.bind(kObject, 1, w.create(0x600 + static_cast<Handle>(device), 1, device_prop(device)), 1);
  }
  EXPECT_THAT(check_data(w, calls::MemsetD8{.dstDevice = kBase, .uc = 1, .N = 2 * kGranule}),
              IsEmpty());
  EXPECT_EQ(
      check_data(w, calls::MemsetD8{.dstDevice = kBase, .uc = 1, .N = 2 * kGranule + 1})[0].rule,
      Rule::kMcAllBound);
}

}  // namespace
}  // namespace cuvmm::testing::check_multicast_test
