// SPDX-License-Identifier: Apache-2.0
#include "shim/queued_work/graph/graph_record.h"

#include <gmock/gmock.h>

namespace cuvmm::shim {
namespace {

using testing::ElementsAre;

CUgraphNode node(std::uintptr_t number) { return reinterpret_cast<CUgraphNode>(number); }

NodeUses uses(std::uintptr_t number, Address address, int depth = 0) {
  NodeUses made;
  made.node = node(number);
  made.depth = depth;
  if (address != 0) {
    made.ranges = {{address, 8}};
    made.arguments = {{address, 0}};
  }
  return made;
}

std::vector<Address> used(GraphRecord& graph) {
  std::vector<Address> all;
  for (const UsedRange& range : *graph.uses()->ranges) all.push_back(range.base);
  return all;
}

TEST(GraphRecord, OneNodeDoesSomethingElse) {
  GraphRecord graph({uses(1, 0x10), uses(2, 0x20), uses(3, 0)});
  EXPECT_THAT(used(graph), ElementsAre(0x10, 0x20));
  graph.change(node(2), uses(0, 0x22));
  graph.change(node(3), uses(0, 0x33));
  EXPECT_THAT(used(graph), ElementsAre(0x10, 0x22, 0x33));
  EXPECT_EQ(graph.uses()->arguments.size(), 3u);
  graph.change(node(9), uses(0, 0x99));
  EXPECT_THAT(used(graph), ElementsAre(0x10, 0x22, 0x33)) << "it has no such node";
}

TEST(GraphRecord, ALaunchThatIsUnderWayKeepsWhatItHad) {
  GraphRecord graph({uses(1, 0x10)});
  const auto before = graph.uses();
  EXPECT_EQ(graph.uses(), before) << "nothing changed";
  graph.change(node(1), uses(0, 0x11));
  EXPECT_EQ((*before->ranges)[0].base, 0x10u);
  EXPECT_THAT(used(graph), ElementsAre(0x11));
}

TEST(GraphRecord, ANodeThatIsDisabledUsesNothing) {
  GraphRecord graph({uses(1, 0x10), uses(2, 0x20)});
  graph.enable(node(1), false);
  EXPECT_THAT(used(graph), ElementsAre(0x20));
  graph.change(node(1), uses(0, 0x11));
  EXPECT_THAT(used(graph), ElementsAre(0x20)) << "it is changed for later";
  graph.enable(node(1), true);
  EXPECT_THAT(used(graph), ElementsAre(0x11, 0x20));
}

TEST(GraphRecord, ANodeTellsTheHostOnlyWhileItIsEnabled) {
  NodeUses telling = uses(2, 0);
  telling.tells = true;
  GraphRecord graph({uses(1, 0x10), telling});
  EXPECT_TRUE(graph.uses()->tells);
  graph.enable(node(2), false);
  EXPECT_FALSE(graph.uses()->tells);
}

TEST(GraphRecord, AnotherChildGraphTakesThePlaceOfOne) {
  GraphRecord graph({uses(1, 0), uses(2, 0x20, 1), uses(3, 0x30, 1), uses(4, 0x40)});
  graph.change_child(node(1), {uses(52, 0x52), uses(53, 0x53)});
  EXPECT_THAT(used(graph), ElementsAre(0x52, 0x53, 0x40));
  graph.change(node(3), uses(0, 0x33));
  EXPECT_THAT(used(graph), ElementsAre(0x52, 0x33, 0x40)) << "the first child's nodes name them";
  graph.change_child(node(1), {uses(61, 0x61)});
  EXPECT_THAT(used(graph), ElementsAre(0x61, 0x40));
  graph.change(node(4), uses(0, 0x44));
  EXPECT_THAT(used(graph), ElementsAre(0x61, 0x44));
}

TEST(GraphRecord, AnotherGraphTakesThePlaceOfAll) {
  GraphRecord graph({uses(1, 0x10), uses(2, 0x20)});
  graph.enable(node(2), false);
  graph.update({uses(71, 0x71), uses(72, 0x72)});
  EXPECT_THAT(used(graph), ElementsAre(0x71));
  graph.change(node(1), uses(0, 0x11));
  EXPECT_THAT(used(graph), ElementsAre(0x11)) << "the first graph's nodes name them";
}

}  // namespace
}  // namespace cuvmm::shim
