// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "rulebook/testing/endpoint_world.h"

namespace cuvmm::testing::check_endpoint_test {
namespace {

CUlogicalEndpointId id_out = 0;
int status_out = 0;

template <class Change>
Violations create(World& w, bool broken, Change change,
                  const CUlogicalEndpointProp& legal = unicast_prop()) {
  reserve_ids(w);
  CUlogicalEndpointProp prop = legal;
  if (broken) change(prop);
  return check(w.model, calls::LogicalEndpointCreate{.leId = kNew, .prop = &prop},
               endpoint_limits());
}

void support(World& w, std::uint64_t unicast, std::uint64_t multicast, std::uint64_t counted = 3) {
  Platform::Endpoints& e = w.model.platform().endpoints;
  e.known = e.handle_types_known = true;
  e.unicast = unicast;
  e.multicast = multicast;
  e.counted = counted;
  e.handle_types = CU_LOGICAL_ENDPOINT_IPC_HANDLE_TYPE_FABRIC;
}

// Puts both devices into one clique for multicast endpoints, or each into its own.
void cliques(World& w, bool apart) {
  const std::uint32_t type = CU_CLIQUE_TYPE_MULTICAST_LOGICAL_ENDPOINT;
  w.model.platform().cliques = {{{type, 7}, {CU_CLIQUE_TYPE_UNICAST_POINTER, 1}},
                                {{type, apart ? 8u : 7u}, {CU_CLIQUE_TYPE_UNICAST_POINTER, 1}}};
}

template <class Change>
Violations add(World& w, bool broken, Change change) {
  reserve_ids(w);
  create_endpoint(w, kUnicast, unicast_prop());
  create_endpoint(w, kTeam, team_prop());
  add_to_endpoint(w, kTeam, 0);
  calls::LogicalEndpointAddDevice call{.leId = kTeam, .dev = 1};
  if (broken) change(call);
  return check(w.model, call);
}

std::vector<RuleCase> cases() {
  return {
      {Rule::kEpExists,  // the last id of a queried range
       [](World& w, bool broken) {
         endpoints(w);
         return check(w.model,
                      calls::LogicalEndpointQuery{
                          .leId = kUnicast, .count = broken ? 3u : 2u, .queryStatus = &status_out});
       }},
      {Rule::kEpReserveSupported,
       [](World& w, bool broken) {
         support(w, 0, broken ? 0 : 1);
         return check(w.model, calls::LogicalEndpointIdReserve{.baseLeId = &id_out, .count = 1});
       }},
      {Rule::kEpIdLeak,
       [](World& w, bool broken) {
         reserve_ids(w);
         if (!broken)
           w.accept(calls::LogicalEndpointIdRelease{.baseLeId = kIds, .count = kIdCount});
         return check_exit(w.model, [](const Export&) { return true; });
       }},
      {Rule::kEpCreateUnicast,
       [](World& w, bool broken) {
         support(w, 0b01, 0);
         return create(w, broken, [](auto& p) { p.unicast.device = 1; });
       }},
      {Rule::kEpCreateMulticast,
       [](World& w, bool broken) {
         support(w, 0b11, 0);
         return create(w, broken, [](auto& p) { p = team_prop(); });
       }},
      {Rule::kEpCreateCounted,
       [](World& w, bool broken) {
         support(w, 0b11, 0b11, 0b01);
         return create(
             w, broken, [](auto& p) { p.unicast.device = 1; },
             [] {
               CUlogicalEndpointProp counted = unicast_prop();
               counted.flags = CU_LOGICAL_ENDPOINT_FLAG_COUNTED_OPS;
               return counted;
             }());
       }},
      {Rule::kEpCreateHandleTypesSupported,
       [](World& w, bool broken) {
         support(w, 0b11, 0b11);
         w.model.platform().endpoints.handle_types = 0;
         return create(w, broken, [](auto& p) { p.ipcHandleTypes = 1; });
       }},
      {Rule::kEpLeak,
       [](World& w, bool broken) {
         reserve_ids(w);
         create_endpoint(w, kUnicast, unicast_prop());
         if (!broken) {
           w.accept(calls::LogicalEndpointDestroy{.leId = kUnicast});
           w.accept(calls::LogicalEndpointIdRelease{.baseLeId = kIds, .count = kIdCount});
         }
         return check_exit(w.model, [](const Export&) { return true; });
       }},
      {Rule::kEpAddSupported,
       [](World& w, bool broken) {
         support(w, 0b11, broken ? 0b01 : 0b10);
         return add(w, broken, [](auto&) {});
       }},
      {Rule::kEpAddClique,
       [](World& w, bool broken) {
         cliques(w, broken);
         return add(w, broken, [](auto&) {});
       }},
  };
}
const ListedCases kListed(cases);

using ::testing::IsEmpty;

bool certain(const Violations& violations, Rule rule) {
  for (const Violation& v : violations) {
    if (v.rule == rule) return v.certain;
  }
  ADD_FAILURE() << "no " << info(rule).id;
  return false;
}

TEST(EndpointCertainty, WhatWasNeverSeenIsUncertain) {
  World w;
  w.model.platform().complete = false;
  const CUlogicalEndpointProp prop = unicast_prop();
  EXPECT_FALSE(certain(check(w.model, calls::LogicalEndpointCreate{.leId = 3, .prop = &prop}),
                       Rule::kEpIdReserved));
  EXPECT_FALSE(certain(check(w.model, calls::LogicalEndpointDestroy{.leId = 3}), Rule::kEpExists));
  EXPECT_FALSE(certain(check(w.model, calls::LogicalEndpointIdRelease{.baseLeId = 3, .count = 1}),
                       Rule::kEpReleaseReserved));
  // An id that this process reserved is known to have no endpoint.
  reserve_ids(w);
  EXPECT_TRUE(certain(check(w.model, calls::LogicalEndpointDestroy{.leId = 3}), Rule::kEpExists));
}

TEST(EndpointCertainty, WhatTheDocumentationDoesNotSayIsNeverCertain) {
  World w;
  w.model.platform().complete = false;
  endpoints(w);
  const CUlogicalEndpointProp prop = unicast_prop();
  EXPECT_FALSE(certain(check(w.model, calls::LogicalEndpointCreate{.leId = kTeam, .prop = &prop}),
                       Rule::kEpIdFree));
}

TEST(EndpointCertainty, AnotherProcessMayHaveAddedDevices) {
  World w;
  reserve_ids(w);
  import_endpoint(w, kTeam, CU_LOGICAL_ENDPOINT_TYPE_MULTICAST);
  const calls::LogicalEndpointAddDevice call{.leId = kTeam, .dev = 1};
  EXPECT_FALSE(certain(check(w.model, call), Rule::kEpAddOnce));
  Facts facts;
  facts.endpoint.team = 0b10;
  EXPECT_TRUE(certain(check(w.model, call, facts), Rule::kEpAddOnce));
  facts.endpoint.team = 0b01;
  EXPECT_THAT(check(w.model, call, facts), IsEmpty());
}

TEST(EndpointCertainty, CliquesExplainARefusalOnly) {
  World w;
  cliques(w, true);
  EXPECT_FALSE(certain(add(w, false, [](auto&) {}), Rule::kEpAddClique));
}

TEST(EndpointModel, IdsAreReleasedInPartsAndTogether) {
  World w;
  reserve_ids(w, 1, 4);
  reserve_ids(w, 5, 4);
  w.accept(calls::LogicalEndpointIdRelease{.baseLeId = 3, .count = 4});
  const EndpointState& state = w.model.endpoints();
  for (const std::uint32_t id : {1u, 2u, 7u, 8u}) EXPECT_NE(state.reserved(id), nullptr) << id;
  for (const std::uint32_t id : {0u, 3u, 4u, 5u, 6u, 9u})
    EXPECT_EQ(state.reserved(id), nullptr) << id;
  w.accept(calls::LogicalEndpointIdRelease{.baseLeId = 1, .count = 2});
  w.accept(calls::LogicalEndpointIdRelease{.baseLeId = 7, .count = 2});
  EXPECT_THAT(state.ids(), IsEmpty());
}

TEST(EndpointModel, ARefusedReleaseGivesAllOfItBack) {
  World w;
  reserve_ids(w, 1, 8);
  w.refuse(calls::LogicalEndpointIdRelease{.baseLeId = 3, .count = 2});
  EXPECT_EQ(w.model.endpoints().ids().size(), 1u);
  for (std::uint32_t id = 1; id <= 8; ++id) EXPECT_NE(w.model.endpoints().reserved(id), nullptr);
}

TEST(EndpointModel, ARefusedDestroyAndUnbindKeepWhatWasThere) {
  World w;
  endpoints(w);
  w.accept(endpoint_bind());
  w.refuse(calls::LogicalEndpointDestroy{.leId = kUnicast});
  const Endpoint* endpoint = w.model.endpoints().find(kUnicast);
  ASSERT_NE(endpoint, nullptr);
  EXPECT_EQ(endpoint->bindings.size(), 1u);
  w.refuse(calls::LogicalEndpointUnbind{.leId = kUnicast, .dev = 0, .size = kGranule});
  EXPECT_EQ(endpoint->bindings.size(), 1u);
  w.accept(calls::LogicalEndpointUnbind{.leId = kUnicast, .dev = 0, .size = kGranule});
  EXPECT_THAT(endpoint->bindings, IsEmpty());
}

TEST(EndpointModel, OnlyAnAnswerThatIsNotZeroMakesReady) {
  World w;
  reserve_ids(w);
  create_endpoint(w, kUnicast, unicast_prop());
  query(w, kUnicast, 0);
  EXPECT_FALSE(w.model.endpoints().find(kUnicast)->ready);
  query(w, kIds, 1, kIdCount);
  EXPECT_TRUE(w.model.endpoints().find(kUnicast)->ready);
}

TEST(EndpointExit, TheIdsOfAnEndpointThatIsLeftAreNotSaidTwice) {
  World w;
  endpoints(w);
  w.release(kEndpointMemory);
  const Violations left = check_exit(w.model, [](const Export&) { return true; });
  ASSERT_EQ(left.size(), 2u);
  for (const Violation& v : left) EXPECT_EQ(v.rule, Rule::kEpLeak);
}

}  // namespace
}  // namespace cuvmm::testing::check_endpoint_test
