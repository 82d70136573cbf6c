#include <gtest/gtest.h>

#include "spec/testing/world.h"

namespace cuvmm::testing {
namespace {

bool open_fd(const Export&) { return true; }

TEST(Model, MemoryLivesUntilTheLastReferenceAndMapping) {
  World w;
  const Handle h = w.mapped(kBase, 1);
  w.retain(h);
  w.release(h);
  w.release(h);
  ASSERT_NE(w.model.allocation(h), nullptr);
  EXPECT_EQ(w.model.allocation(h)->references, 0u);
  w.unmap(kBase, 1);
  EXPECT_EQ(w.model.allocation(h), nullptr);
}

TEST(Model, AHandleThatIsReusedAtOnceIsNotConfused) {
  World w;
  const Handle h = w.create(0x100, 1);
  const calls::MemRelease release{.handle = h};
  Retired retired = w.model.retire(release);
  // The driver freed it and gave the value to another thread's create, which recorded first.
  w.create(0x100, 4);
  w.model.bury(std::move(retired), w.at());
  ASSERT_NE(w.model.allocation(h), nullptr);
  EXPECT_EQ(w.model.allocation(h)->references, 1u);
  EXPECT_EQ(w.model.allocation(h)->size, 4 * kGranule);
  EXPECT_TRUE(check(w.model, release).empty());
}

TEST(Model, AnAddressThatIsReusedAtOnceIsNotConfused) {
  World w;
  w.mapped(kBase, 1);
  const calls::MemUnmap unmap{.ptr = kBase, .size = kGranule};
  Retired retired = w.model.retire(unmap);
  w.create(0x200, 1);
  w.map(kBase, 1, 0x200);
  w.model.bury(std::move(retired), w.at());
  ASSERT_NE(w.model.mapping_at(kBase), nullptr);
  EXPECT_EQ(w.model.mapping_at(kBase)->handle, 0x200u);
  EXPECT_TRUE(check(w.model, unmap).empty());
}

TEST(Model, ARefusedReleaseKeepsTheReference) {
  World w;
  const Handle h = w.create(0x100, 1);
  w.model.restore(w.model.retire(calls::MemRelease{.handle = h}), w.at());
  ASSERT_NE(w.model.allocation(h), nullptr);
  EXPECT_EQ(w.model.allocation(h)->references, 1u);
}

TEST(Model, ARefusedUnmapKeepsMappingsAccessAndCounts) {
  World w;
  const Handle h = w.mapped(kBase, 2);
  w.release(h);
  w.model.restore(w.model.retire(calls::MemUnmap{.ptr = kBase, .size = 2 * kGranule}), w.at());
  ASSERT_NE(w.model.mapping_at(kBase), nullptr);
  EXPECT_EQ(w.model.mapping_at(kBase)->access.write, 1u);
  ASSERT_NE(w.model.allocation(h), nullptr);
  EXPECT_EQ(w.model.allocation(h)->mappings, 1u);
  EXPECT_EQ(w.model.allocation(h)->references, 0u);
}

TEST(Model, ARefusedUnmapOfOneAllocationMappedTwiceCountsBothAgain) {
  World w;
  w.reserve(kBase, 2);
  const Handle h = w.create(0x100, 1);
  w.map(kBase, 1, h);
  w.map(kBase + kGranule, 1, h);
  w.release(h);
  w.model.restore(w.model.retire(calls::MemUnmap{.ptr = kBase, .size = 2 * kGranule}), w.at());
  ASSERT_NE(w.model.allocation(h), nullptr);
  EXPECT_EQ(w.model.allocation(h)->mappings, 2u);
}

TEST(Model, AnUnmapThatCutsGivesNothingUp) {
  World w;
  w.mapped(kBase, 2);
  EXPECT_TRUE(w.model.retire(calls::MemUnmap{.ptr = kBase, .size = kGranule}).mappings.empty());
  EXPECT_NE(w.model.mapping_at(kBase), nullptr);
}

TEST(Model, AccessIsGoneAfterARemap) {
  World w;
  const Handle h = w.mapped(kBase, 1);
  w.unmap(kBase, 1);
  w.map(kBase, 1, h);
  EXPECT_EQ(w.model.mapping_at(kBase)->access.read, 0u);
}

TEST(Model, AccessOfOneLocationLeavesTheOthers) {
  World w;
  w.mapped(kBase, 1);
  w.access(kBase, 1, 1, 1);
  EXPECT_EQ(w.model.mapping_at(kBase)->access.read, 0b11u);
  EXPECT_EQ(w.model.mapping_at(kBase)->access.write, 0b01u);
  w.access(kBase, 1, 0, 0);
  EXPECT_EQ(w.model.mapping_at(kBase)->access.read, 0b10u);
}

TEST(Model, AnImportLearnsItsSizeFromItsFirstMapping) {
  World w;
  w.reserve(kBase, 4);
  const Handle h = w.import(0x200, 0);
  w.map(kBase, 4, h);
  EXPECT_EQ(w.model.allocation(h)->size, 4 * kGranule);
}

TEST(Model, ARetainOfUnseenMemoryIsUnknownNotWrong) {
  World w;
  w.model.platform().complete = false;
  w.retain(0x300);
  EXPECT_TRUE(check(w.model, calls::MemRelease{.handle = 0x300}).empty());
  w.release(0x300);
  // Whoever made it still has a reference that was never seen: not certainly wrong.
  const Violations v = check(w.model, calls::MemRelease{.handle = 0x300});
  ASSERT_EQ(v.size(), 1u);
  EXPECT_FALSE(v[0].certain);
}

TEST(Model, ANewExportUnderANumberReplacesTheOldOne) {
  World w;
  w.export_fd(w.create(0x100, 1), 7);
  w.export_fd(w.create(0x200, 1), 7);
  w.release(0x100);
  w.release(0x200);
  EXPECT_EQ(check_exit(w.model, open_fd).size(), 1u);
}

TEST(Model, AReservationGivenOutAgainReplacesWhatEndedUnseen) {
  World w;
  w.reserve(kBase, 4);
  w.reserve(kBase + kGranule, 1);
  EXPECT_EQ(w.model.reservations().size(), 1u);
}

TEST(Model, ARefusedFreeOfAMappedRangeIsRemembered) {
  World w;
  w.mapped(kBase, 1);
  w.model.restore(w.model.retire(calls::MemAddressFree{.ptr = kBase, .size = kGranule}),
                  {.call = 9});
  EXPECT_EQ(w.model.reservation_at(kBase)->free_refused.call, 9u);
}

TEST(Model, AChildOfForkStartsFromNothing) {
  World w;
  w.mapped(kBase, 1);
  w.model.clear();
  EXPECT_TRUE(w.model.reservations().empty() && w.model.mappings().empty() &&
              w.model.allocations().empty());
  EXPECT_TRUE(check_exit(w.model, open_fd).empty());
}

TEST(Tombstones, ForgetTheOldestOnly) {
  Tombstones tombstones;
  for (std::uint64_t i = 1; i <= Tombstones::kCapacity + 1; ++i) {
    tombstones.add({ObjectRef::Kind::kAllocation, i, 0, {}, {.call = i}});
  }
  EXPECT_FALSE(tombstones.find(ObjectRef::Kind::kAllocation, 1));
  EXPECT_TRUE(tombstones.find(ObjectRef::Kind::kAllocation, 2));
  EXPECT_FALSE(tombstones.find(ObjectRef::Kind::kMapping, 2));
}

}  // namespace
}  // namespace cuvmm::testing
