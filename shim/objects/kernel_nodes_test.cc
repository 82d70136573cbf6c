// SPDX-License-Identifier: Apache-2.0
#include "shim/objects/kernel_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cuvmm::shim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr std::uint64_t kGraph = 0x10, kOther = 0x20, kNode = 0x30, kNext = 0x40;

TEST(KernelNodes, ANodeRunsItsNewestFunctionUntilItEnds) {
  KernelNodes nodes;
  nodes.add(kGraph, kNode, 1);
  nodes.add(kGraph, kNext, 2);
  EXPECT_THAT(nodes.functions(kGraph), UnorderedElementsAre(1, 2));
  EXPECT_THAT(nodes.functions(kOther), IsEmpty());
  nodes.change(kNode, 3);
  EXPECT_THAT(nodes.functions(kGraph), UnorderedElementsAre(3, 2));
  nodes.end_node(kNode);
  EXPECT_THAT(nodes.functions(kGraph), ElementsAre(2));
  nodes.end_graph(kGraph);
  EXPECT_THAT(nodes.functions(kGraph), IsEmpty());
}

TEST(KernelNodes, AnExecutableGraphHasTheFunctionsOfItsNewestGraph) {
  KernelNodes nodes;
  nodes.execute(0x60, {7, KernelNodes::kNullSemaphore});
  EXPECT_TRUE(nodes.executes(0x60, 7));
  nodes.change_executable(0x60, KernelNodes::kSemaphores);
  EXPECT_FALSE(nodes.executes(0x60, KernelNodes::kNullSemaphore));
  nodes.execute(0x60, {8});
  EXPECT_FALSE(nodes.executes(0x60, 7));
  nodes.execute(0x60, {});
  EXPECT_FALSE(nodes.executes(0x60, 8));
}

TEST(KernelNodes, CopiesStayAsTheyWereMade) {
  KernelNodes nodes;
  nodes.add(kGraph, kNode, 1);
  nodes.copy(kGraph, kOther, kNext);
  nodes.change(kNode, 2);
  nodes.copy(kOther, 0x50, 0);
  nodes.end_graph(kGraph);
  EXPECT_THAT(nodes.functions(kOther), ElementsAre(1));
  EXPECT_THAT(nodes.functions(0x50), ElementsAre(1));
  nodes.end_node(kNext);
  EXPECT_THAT(nodes.functions(kOther), IsEmpty());
  EXPECT_THAT(nodes.functions(0x50), ElementsAre(1));
}

// The program may have asked the driver for the nodes of a copy.
TEST(KernelNodes, AnUnknownNodeMayBeACopy) {
  for (const bool change : {true, false}) {
    KernelNodes nodes;
    nodes.add(kGraph, kNode, 1);
    nodes.copy(kGraph, kOther, 0);
    change ? nodes.change(0x60, 2) : nodes.end_node(0x60);
    EXPECT_THAT(nodes.functions(kOther), IsEmpty());
    EXPECT_THAT(nodes.functions(kGraph), ElementsAre(1));
  }
}

// The handle of a node that ended unseen.
TEST(KernelNodes, ANodeIsInTheGraphThatGotItLast) {
  KernelNodes nodes;
  nodes.add(kGraph, kNode, 1);
  nodes.add(kOther, kNode, 2);
  EXPECT_THAT(nodes.functions(kGraph), IsEmpty());
  EXPECT_THAT(nodes.functions(kOther), ElementsAre(2));
}

}  // namespace
}  // namespace cuvmm::shim
