// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "rulebook/testing/world.h"

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
  Retired retired;
  const Origin at = w.at();
  w.model.begin(release, at, retired);
  // The driver freed the memory, and gave the handle to another thread's create, which was recorded
  // first.
  w.create(0x100, 4);
  w.model.confirm(release, {}, at, retired);
  ASSERT_NE(w.model.allocation(h), nullptr);
  EXPECT_EQ(w.model.allocation(h)->references, 1u);
  EXPECT_EQ(w.model.allocation(h)->size, 4 * kGranule);
  EXPECT_TRUE(check(w.model, release).empty());
}

TEST(Model, AnAddressThatIsReusedAtOnceIsNotConfused) {
  World w;
  w.mapped(kBase, 1);
  const calls::MemUnmap unmap{.ptr = kBase, .size = kGranule};
  Retired retired;
  const Origin at = w.at();
  w.model.begin(unmap, at, retired);
  w.create(0x200, 1);
  w.map(kBase, 1, 0x200);
  w.model.confirm(unmap, {}, at, retired);
  ASSERT_NE(w.model.mapping_at(kBase), nullptr);
  EXPECT_EQ(w.model.mapping_at(kBase)->handle, 0x200u);
  EXPECT_TRUE(check(w.model, unmap).empty());
}

// The first mapping ended by a route that the model did not see. A leak of its memory is then one
// finding, and the end of the memory counts.
TEST(Model, WhatIsMappedOverAnotherMappingEndsThatOne) {
  World w;
  w.mapped(kBase, 1, 0x100);
  w.create(0x200, 1);
  w.map(kBase, 1, 0x200);
  ASSERT_NE(w.model.allocation(0x100), nullptr);
  EXPECT_EQ(w.model.allocation(0x100)->mappings, 0u);
  EXPECT_EQ(w.model.allocation(0x200)->mappings, 1u);
  EXPECT_TRUE(leaks(w.model, *w.model.allocation(0x100), {}));
  w.release(0x100);
  EXPECT_EQ(w.model.allocation(0x100), nullptr) << "nothing keeps it";
}

TEST(Model, AnAllocationMappedOverItselfIsMappedOnce) {
  World w;
  const Handle h = w.mapped(kBase, 1);
  w.release(h);
  w.map(kBase, 1, h);
  ASSERT_NE(w.model.allocation(h), nullptr);
  EXPECT_EQ(w.model.allocation(h)->mappings, 1u);
  w.unmap(kBase, 1);
  EXPECT_EQ(w.model.allocation(h), nullptr);
}

TEST(Model, AReservationOverMappingsEndsThose) {
  World w;
  const Handle h = w.mapped(kBase, 1);
  w.reserve(kBase, 2);
  EXPECT_EQ(w.model.mapping_at(kBase), nullptr);
  ASSERT_NE(w.model.allocation(h), nullptr);
  EXPECT_EQ(w.model.allocation(h)->mappings, 0u);
}

// Some drivers map past the end of a reservation.
TEST(Model, AReservationUnderTheEndOfAMappingEndsNothing) {
  World w;
  w.reserve(kBase, 2);
  const Handle h = w.create(0x100, 2);
  w.map(kBase + kGranule, 2, h);
  w.reserve(kBase + 2 * kGranule, 2);
  EXPECT_NE(w.model.mapping_at(kBase + 2 * kGranule), nullptr);
  EXPECT_EQ(w.model.allocation(h)->mappings, 1u);
}

TEST(Model, ARefusedReleaseKeepsTheReference) {
  World w;
  const Handle h = w.create(0x100, 1);
  w.refuse(calls::MemRelease{.handle = h});
  ASSERT_NE(w.model.allocation(h), nullptr);
  EXPECT_EQ(w.model.allocation(h)->references, 1u);
}

TEST(Model, ARefusedUnmapKeepsMappingsAccessAndCounts) {
  World w;
  const Handle h = w.mapped(kBase, 2);
  w.release(h);
  w.refuse(calls::MemUnmap{.ptr = kBase, .size = 2 * kGranule});
  ASSERT_NE(w.model.mapping_at(kBase), nullptr);
  EXPECT_EQ(w.model.mapping_at(kBase)->access.write, 1u);
  ASSERT_NE(w.model.allocation(h), nullptr);
  EXPECT_EQ(w.model.allocation(h)->mappings, 1u);
  EXPECT_EQ(w.model.allocation(h)->references, 0u);
}

// The release makes history before the driver answers; undo() takes that back.
TEST(Model, WhatWasGivenUpAndRefusedWasNeverGone) {
  World w;
  const Handle h = w.mapped(kBase, 1);
  w.retain(h);
  w.release(h);
  const Origin released = w.model.allocation(h)->released;
  w.refuse(calls::MemRelease{.handle = h});
  ASSERT_NE(w.model.allocation(h), nullptr);
  EXPECT_EQ(w.model.allocation(h)->references, 1u);
  EXPECT_EQ(w.model.allocation(h)->released.call, released.call);
  w.refuse(calls::MemUnmap{.ptr = kBase, .size = kGranule});
  EXPECT_EQ(w.model.allocation(h)->mappings, 1u);
  EXPECT_EQ(w.model.allocation(h)->unmapped.call, 0u);
  ASSERT_NE(w.model.mapping_at(kBase), nullptr);
  EXPECT_FALSE(w.model.tombstones().find(ObjectRef::Kind::kMapping, kBase));
  w.unmap(kBase, 1);
  w.refuse(calls::MemAddressFree{.ptr = kBase, .size = kGranule});
  ASSERT_NE(w.model.reservation_at(kBase), nullptr);
  EXPECT_FALSE(w.model.tombstones().find(ObjectRef::Kind::kReservation, kBase));
  w.refuse(calls::MemRelease{.handle = h});  // the last reference
  EXPECT_FALSE(w.model.tombstones().find(ObjectRef::Kind::kAllocation, h));
  // Tombstones of older objects with the same value stay.
  w.mapped(kBase + kGranule, 1, 0x200);
  w.unmap(kBase + kGranule, 1);
  const auto ended_object = w.model.tombstones().find(ObjectRef::Kind::kMapping, kBase + kGranule);
  ASSERT_TRUE(ended_object);
  w.map(kBase + kGranule, 1, 0x200);
  w.refuse(calls::MemUnmap{.ptr = kBase + kGranule, .size = kGranule});
  const auto still = w.model.tombstones().find(ObjectRef::Kind::kMapping, kBase + kGranule);
  ASSERT_TRUE(still);
  EXPECT_EQ(still->ended.call, ended_object->ended.call);
}

// Another thread dropped the other reference meanwhile, so undo() gives back one reference, not
// two.
TEST(Model, ARefusedReleaseGivesBackOneReferenceOfAnAllocationThatEndedMeanwhile) {
  World w;
  const Handle h = w.create(0x100, 1);
  w.mapped(kBase, 1, 0x200);
  w.unmap(kBase, 1);
  w.map(kBase, 1, h);
  w.retain(h);
  const calls::MemRelease release{.handle = h};
  Retired retired;
  const Origin at = w.at();
  w.model.begin(release, at, retired);
  w.release(h);
  w.unmap(kBase, 1);
  ASSERT_EQ(w.model.allocation(h), nullptr);
  w.model.undo(release, at, retired);
  ASSERT_NE(w.model.allocation(h), nullptr);
  EXPECT_EQ(w.model.allocation(h)->references, 1u);
  EXPECT_EQ(w.model.allocation(h)->mappings, 0u);
}

TEST(Model, AMapThatWasRecordedAndRefusedIsNotThere) {
  World w;
  w.reserve(kBase, 1);
  const Handle h = w.create(0x100, 1);
  const calls::MemMap map{.ptr = kBase, .size = kGranule, .handle = h};
  const Origin at = w.at();
  Recorded recorded;
  w.model.begin(map, at, recorded);
  ASSERT_TRUE(recorded.done);
  EXPECT_EQ(w.model.allocation(h)->mappings, 1u);
  w.model.undo(map, at, recorded);
  EXPECT_EQ(w.model.mapping_at(kBase), nullptr);
  EXPECT_EQ(w.model.allocation(h)->mappings, 0u);
  // Another thread released the allocation before the driver answered, so the allocation is gone.
  w.model.begin(map, at, recorded);
  w.release(h);
  ASSERT_NE(w.model.allocation(h), nullptr);
  w.model.undo(map, at, recorded);
  EXPECT_EQ(w.model.allocation(h), nullptr);
  EXPECT_TRUE(w.model.tombstones().find(ObjectRef::Kind::kAllocation, h));
  // The mapping there now belongs to another call.
  w.map(kBase, 1, w.create(0x200, 1));
  w.model.undo(map, at, recorded);
  EXPECT_NE(w.model.mapping_at(kBase), nullptr);
}

TEST(Model, AccessThatWasRecordedAndRefusedIsAsBefore) {
  World w;
  w.mapped(kBase, 1);
  const auto access = [](int device, CUmemAccess_flags flags) {
    return access_desc(flags, device);
  };
  const CUmemAccessDesc both[] = {access(0, CU_MEM_ACCESS_FLAGS_PROT_NONE),
                                  access(1, CU_MEM_ACCESS_FLAGS_PROT_READWRITE)};
  const calls::MemSetAccess call{.ptr = kBase, .size = kGranule, .desc = both, .count = 2};
  const AccessMask before = w.model.mapping_at(kBase)->access;
  Recorded recorded;
  w.model.begin(call, w.at(), recorded);
  ASSERT_TRUE(recorded.done);
  EXPECT_EQ(w.model.mapping_at(kBase)->access.write, 2u);
  // Another thread's grant to another device stays.
  const CUmemAccessDesc third = access(2, CU_MEM_ACCESS_FLAGS_PROT_READ);
  w.accept(calls::MemSetAccess{.ptr = kBase, .size = kGranule, .desc = &third, .count = 1});
  w.model.undo(call, {}, recorded);
  EXPECT_EQ(w.model.mapping_at(kBase)->access.write, before.write);
  EXPECT_EQ(w.model.mapping_at(kBase)->access.read, before.read | 4u);
  // A grant to several mappings is recorded after the driver's answer.
  w.mapped(kBase + kGranule, 1, 0x200);
  Recorded none;
  w.model.begin(calls::MemSetAccess{.ptr = kBase, .size = 2 * kGranule, .desc = both, .count = 2},
                w.at(), none);
  EXPECT_FALSE(none.done);
  EXPECT_EQ(w.model.mapping_at(kBase)->access.write, before.write);
}

TEST(Model, ARefusedUnmapOfOneAllocationMappedTwiceCountsBothAgain) {
  World w;
  w.reserve(kBase, 2);
  const Handle h = w.create(0x100, 1);
  w.map(kBase, 1, h);
  w.map(kBase + kGranule, 1, h);
  w.release(h);
  w.refuse(calls::MemUnmap{.ptr = kBase, .size = 2 * kGranule});
  ASSERT_NE(w.model.allocation(h), nullptr);
  EXPECT_EQ(w.model.allocation(h)->mappings, 2u);
}

TEST(Model, AnUnmapThatCutsGivesNothingUp) {
  World w;
  w.mapped(kBase, 2);
  Retired retired;
  w.model.begin(calls::MemUnmap{.ptr = kBase, .size = kGranule}, w.at(), retired);
  EXPECT_TRUE(retired.mappings.empty());
  EXPECT_NE(w.model.mapping_at(kBase), nullptr);
}

TEST(Model, AccessIsGoneAfterARemap) {
  World w;
  const Handle h = w.mapped(kBase, 1);
  w.unmap(kBase, 1);
  w.map(kBase, 1, h);
  EXPECT_EQ(w.model.mapping_at(kBase)->access.read, 0u);
}

// An H200 was asked, with all orders of up to three settings.
TEST(Model, TheAnswerForHostIsTheLastChangedOfTheHostsAndDeviceZeros) {
  constexpr std::uint64_t kDevice = 1, kHost = AccessMask::kHostBit;
  World w;
  w.mapped(kBase, 1);
  const auto answer = [&] { return w.model.mapping_at(kBase)->access.host_answer_bit(); };
  EXPECT_EQ(answer(), kDevice);
  w.access(kBase, 1, 3, 0, 2);
  EXPECT_EQ(answer(), kHost);
  w.access(kBase, 1, 3, 0);
  EXPECT_EQ(answer(), kHost) << "nothing changed";
  w.access(kBase, 1, 1, 0);
  EXPECT_EQ(answer(), kDevice);
  w.access(kBase, 1, 3, 1);
  EXPECT_EQ(answer(), kDevice) << "other devices do not count";
  w.access(kBase, 1, 0, 0);
  EXPECT_EQ(answer(), kHost) << "the device has none any more";
  w.access(kBase, 1, 1, 0);
  w.access(kBase, 1, 0, 0, 2);
  EXPECT_EQ(answer(), kDevice);
}

TEST(Model, AccessOfOneLocationLeavesTheOthers) {
  World w;
  w.mapped(kBase, 1);
  w.access(kBase, 1, 1, 1);
  EXPECT_EQ(w.model.mapping_at(kBase)->access.read, 0b11u | AccessMask::kDeviceLastBit);
  EXPECT_EQ(w.model.mapping_at(kBase)->access.write, 0b01u);
  w.access(kBase, 1, 0, 0);
  EXPECT_EQ(w.model.mapping_at(kBase)->access.read, 0b10u | AccessMask::kDeviceLastBit);
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
  // The code that made it still has a reference that the model never saw, so this is not certainly
  // wrong.
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
  w.refuse(calls::MemAddressFree{.ptr = kBase, .size = kGranule}, {.call = 9});
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

TEST(Tombstones, OfALargerRangeTheRestIsKnown) {
  constexpr auto kKind = ObjectRef::Kind::kPoolMemory;
  constexpr std::uint64_t kStart = 0x1000;
  Tombstones tombstones;
  tombstones.add({kKind, kStart, 0x800, {}, {.call = 1}});
  tombstones.reuse(kKind, kStart, 0x100);
  EXPECT_FALSE(tombstones.find(kKind, kStart));
  EXPECT_FALSE(tombstones.find_covering(kKind, kStart + 0xff)) << "in use again";
  const auto rest = tombstones.find_covering(kKind, kStart + 0x100);
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->ended.call, 1u);
  EXPECT_EQ(rest->size, 0x700u);
  EXPECT_FALSE(tombstones.find(kKind, kStart + 0x100)) << "no memory began there";
  EXPECT_FALSE(tombstones.find_covering(kKind, kStart + 0x800));
  tombstones.reuse(kKind, kStart + 0x100, 0x700);
  EXPECT_FALSE(tombstones.find_covering(kKind, kStart + 0x700));
}

TEST(Tombstones, AsLargeARangeLeavesNoRest) {
  constexpr auto kKind = ObjectRef::Kind::kPoolMemory;
  for (const std::uint64_t size : {0u, 0x800u, 0x900u}) {
    Tombstones tombstones;
    tombstones.add({kKind, 0x1000, 0x800, {}, {.call = 1}});
    tombstones.reuse(kKind, 0x1000, size);
    EXPECT_FALSE(tombstones.find_covering(kKind, 0x1700)) << size;
  }
}

}  // namespace
}  // namespace cuvmm::testing
