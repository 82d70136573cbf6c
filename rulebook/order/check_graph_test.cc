// SPDX-License-Identifier: Apache-2.0
#include "rulebook/order/check_graph.h"

#include <gmock/gmock.h>

#include "rulebook/testing/world.h"

namespace cuvmm::testing::check_graph_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr Address kMemory = 0x3'0000'0000;
constexpr Size kSize = 0x1000;
constexpr UsedRange kAll{kMemory, kSize};

GraphOrder::Use kernel(std::size_t node, Address address, int argument = 0) {
  static const std::string name = "fill(int*)";
  return {node, {address, 0}, argument, "kernel", &name};
}
GraphOrder::Use copy(std::size_t node, UsedRange range) { return {node, range, -1, "copy"}; }

// Node 0 allocates memory, node 1 uses it and node 2 frees it.
GraphOrder chain() {
  GraphOrder graph;
  graph.nodes = 3;
  graph.edges = {{0, 1}, {1, 2}};
  graph.allocations = {{0, kAll}};
  graph.frees = {{2, kMemory}};
  graph.uses = {kernel(1, kMemory)};
  return graph;
}

std::vector<RuleCase> cases() {
  return {
      {Rule::kGraphMemoryOrdered,  // nothing orders the use before the free
       [](World& w, bool broken) {
         GraphOrder graph = chain();
         if (broken) graph.edges = {{0, 1}, {0, 2}};
         return check_graph(w.model, graph);
       }},
      {Rule::kGraphMemoryOrdered,  // nothing orders the use behind the allocation
       [](World& w, bool broken) {
         GraphOrder graph = chain();
         if (broken) graph.edges = {{0, 2}, {1, 2}};
         return check_graph(w.model, graph);
       }},
  };
}
const ListedCases kListed(cases);

class CheckGraph : public ::testing::Test {
 protected:
  Violations found(const GraphOrder& graph) { return check_graph(world_.model, graph); }

  World world_;
};

TEST_F(CheckGraph, TheFindingSaysWhichOrderIsMissing) {
  GraphOrder graph = chain();
  graph.edges = {{0, 1}, {0, 2}};
  Violations v = found(graph);
  ASSERT_THAT(v, SizeIs(1));
  EXPECT_EQ(v[0].message,
            "the kernel fill(int*) (argument 0 is 0x300000000) uses memory that the graph frees, "
            "[0x300000000, 0x300001000) (4 KiB), and nothing orders it before the free");
  graph.edges = {{0, 2}, {1, 2}};
  v = found(graph);
  ASSERT_THAT(v, SizeIs(1));
  EXPECT_THAT(v[0].message, HasSubstr("that the graph allocates, [0x300000000, 0x300001000) (4 "
                                      "KiB), and nothing orders it behind the allocation"));
}

TEST_F(CheckGraph, ManyNodesAreOneFinding) {
  GraphOrder graph = chain();
  graph.nodes = 5;
  graph.edges = {{0, 2}, {0, 1}, {0, 3}, {0, 4}, {1, 2}};
  graph.uses = {kernel(1, kMemory), kernel(3, kMemory), kernel(3, kMemory + 8, 1),
                copy(4, {kMemory + 16, 4})};
  const Violations v = found(graph);
  ASSERT_THAT(v, SizeIs(1));
  EXPECT_THAT(v[0].message, HasSubstr("; 1 more likewise"));
}

TEST_F(CheckGraph, APathMayBeLong) {
  GraphOrder graph = chain();
  graph.nodes = 200;
  graph.edges = {{0, 100}, {199, 2}};
  for (std::size_t node = 100; node < 199; ++node) graph.edges.push_back({node, node + 1});
  graph.edges.push_back({150, 1});
  graph.edges.push_back({1, 160});
  EXPECT_THAT(found(graph), IsEmpty());
  graph.edges.pop_back();
  EXPECT_THAT(found(graph), SizeIs(1));
}

TEST_F(CheckGraph, MemoryThatOutlivesTheGraphIsUsedBehindItsAllocation) {
  GraphOrder graph = chain();
  graph.frees.clear();
  graph.edges = {{0, 1}};
  EXPECT_THAT(found(graph), IsEmpty());
  graph.edges = {{1, 0}};
  EXPECT_THAT(found(graph), SizeIs(1));
}

TEST_F(CheckGraph, MemoryOfSomebodyElseIsNotJudged) {
  GraphOrder graph = chain();
  graph.edges.clear();
  graph.uses = {kernel(1, kMemory - 1), kernel(1, kMemory + kSize), copy(1, {kMemory - 64, 64}),
                copy(1, {kMemory + kSize, 64})};
  EXPECT_THAT(found(graph), IsEmpty());
  graph.uses = {copy(1, {kMemory - 64, 65})};
  EXPECT_THAT(found(graph), SizeIs(1)) << "its last byte";
}

TEST_F(CheckGraph, AFreeOfAnotherGraphsMemoryEndsNothing) {
  GraphOrder graph = chain();
  graph.frees = {{2, kMemory + 0x10000}};
  graph.edges = {{0, 1}, {0, 2}};
  EXPECT_THAT(found(graph), IsEmpty());
}

// A driver may give the addresses to another allocation after the first is freed.
TEST_F(CheckGraph, AddressesThatAreGivenTwiceHaveTwoLives) {
  GraphOrder graph;
  graph.nodes = 6;
  graph.edges = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}};
  graph.allocations = {{0, kAll}, {3, {kMemory, 2 * kSize}}};
  graph.frees = {{2, kMemory}, {5, kMemory}};
  graph.uses = {kernel(1, kMemory), kernel(4, kMemory)};
  EXPECT_THAT(found(graph), IsEmpty());
  graph.edges = {{0, 1}, {0, 2}, {2, 3}, {1, 5}, {3, 4}, {4, 5}};
  EXPECT_THAT(found(graph), SizeIs(1)) << "node 1 may run in the second life";
}

TEST_F(CheckGraph, MoreMemoryThanIsLookedAtInOneGo) {
  constexpr std::size_t kMany = 150;
  GraphOrder graph;
  graph.nodes = 3 * kMany;
  for (std::size_t i = 0; i < kMany; ++i) {
    const UsedRange memory{kMemory + 2 * i * kSize, kSize};
    graph.allocations.push_back({3 * i, memory});
    graph.uses.push_back(kernel(3 * i + 1, memory.base + 8));
    graph.frees.push_back({3 * i + 2, memory.base});
    graph.edges.push_back({3 * i, 3 * i + 1});
    graph.edges.push_back({3 * i + 1, 3 * i + 2});
  }
  EXPECT_THAT(found(graph), IsEmpty());
  std::swap(graph.uses[3].range, graph.uses[140].range);
  const Violations v = found(graph);
  ASSERT_THAT(v, SizeIs(1));
  EXPECT_THAT(v[0].message, HasSubstr("; 1 more likewise"));
}

TEST_F(CheckGraph, ACircleIsNoOrder) {
  GraphOrder graph = chain();
  graph.edges = {{0, 2}, {1, 2}, {2, 1}};
  EXPECT_THAT(found(graph), IsEmpty());
}

// --- Arguments that are not uses

TEST_F(CheckGraph, TheEndOfOtherMemoryOfTheKernelIsNoUse) {
  GraphOrder graph = chain();
  graph.nodes = 4;
  graph.allocations.push_back({3, {kMemory + kSize, kSize}});
  graph.uses = {kernel(1, kMemory, 0), kernel(1, kMemory + kSize, 1)};
  EXPECT_THAT(found(graph), IsEmpty()) << "from its beginning to its end";
  graph.uses = {kernel(1, kMemory + kSize)};
  EXPECT_THAT(found(graph), SizeIs(1));
  graph.uses = {kernel(1, kMemory, 0), kernel(1, kMemory + kSize + 8, 1)};
  EXPECT_THAT(found(graph), SizeIs(1)) << "that is within";
  graph.uses = {kernel(1, kMemory, 0), copy(1, {kMemory + kSize, 4})};
  EXPECT_THAT(found(graph), SizeIs(1)) << "it has a size";
}

TEST_F(CheckGraph, TheEndOfMemoryOfNoGraphIsNoUse) {
  GraphOrder graph = chain();
  graph.edges = {{0, 2}, {1, 2}};
  CUdeviceptr out = kMemory - kSize;
  world_.accept(calls::MemAllocAsync{.dptr = &out, .bytesize = kSize});
  EXPECT_THAT(found(graph), IsEmpty());
}

}  // namespace
}  // namespace cuvmm::testing::check_graph_test
