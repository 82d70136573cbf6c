// SPDX-License-Identifier: Apache-2.0
#include "rulebook/leaks/checkpoint.h"

#include <gmock/gmock.h>

#include "rulebook/testing/world.h"

namespace cuvmm::testing::checkpoint_test {
namespace {

using ::testing::HasSubstr;

Violations managed(World& world, bool broken) {
  if (broken) {
    CUdeviceptr memory = kBase;
    world.accept(calls::MemAllocManaged{&memory, kGranule, CU_MEM_ATTACH_GLOBAL});
  }
  return check_checkpoint_blockers(checkpoint_blockers(world.model));
}

std::vector<RuleCase> cases() {
  return {
      {Rule::kCheckpointState,
       [](World&, bool broken) {
         return check_checkpoint_order(
             CheckpointStep::kRestore, 7,
             broken ? ProcessState::kLocked : ProcessState::kCheckpointed);
       }},
      {Rule::kCheckpointReserved,
       [](World&, bool broken) {
         unsigned char args[64]{200, 1};
         args[63] = broken ? 1 : 0;
         return check_checkpoint_reserved(args, 4, sizeof args);
       }},
      {Rule::kCheckpointPairs,
       [](World&, bool broken) {
         char pairs[2][32]{{1}, {2}};
         if (broken) pairs[1][0] = 1;
         return check_checkpoint_pairs(pairs, 2);
       }},
      {Rule::kCheckpointOut,
       [](World&, bool broken) { return broken ? check_checkpoint_out("state") : Violations{}; }},
      {Rule::kCheckpointBlocked, [](World& world, bool broken) { return managed(world, broken); }},
  };
}
const ListedCases kListed(cases);

TEST(Checkpoint, AStateThatNobodyKnowsIsNotWrong) {
  EXPECT_TRUE(check_checkpoint_order(CheckpointStep::kUnlock, 7, std::nullopt).empty());
  const Violations found =
      check_checkpoint_order(CheckpointStep::kCheckpoint, 7, ProcessState::kRunning);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message,
            "pid: process 7 is RUNNING, and only a process that is LOCKED can be checkpointed");
  EXPECT_FALSE(found[0].certain) << "another process may have locked it";
}

TEST(Checkpoint, TheStepsFormACircle) {
  ProcessState state = ProcessState::kRunning;
  for (const CheckpointStep step : {CheckpointStep::kLock, CheckpointStep::kCheckpoint,
                                    CheckpointStep::kRestore, CheckpointStep::kUnlock}) {
    EXPECT_EQ(wanted_state(step), state);
    state = next_state(step);
  }
  EXPECT_EQ(state, ProcessState::kRunning);
}

TEST(Checkpoint, PairsWithoutAnArray) {
  EXPECT_TRUE(check_checkpoint_pairs(nullptr, 0).empty());
  const Violations found = check_checkpoint_pairs(nullptr, 1);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rule, Rule::kAnnouncedArray) << "an H200 dies of it";
}

TEST(Checkpoint, NoArgumentsHaveNoReservedBytes) {
  EXPECT_TRUE(check_checkpoint_reserved(nullptr, 0, 64).empty());
}

TEST(Checkpoint, BlockersAreCountedByKind) {
  World world;
  const Handle one = world.create(0x100, 1), two = world.create(0x200, 1);
  EXPECT_TRUE(checkpoint_blockers(world.model).empty()) << "memory of a device comes back";
  world.model.restore(Export{.fd = 9, .handle = one, .made = {.call = 5}});
  world.model.restore(Export{.fd = 10, .handle = two, .made = {.call = 6}});
  const Violations found = check_checkpoint_blockers(checkpoint_blockers(world.model));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].message, HasSubstr("the process holds exported memory (2): "));
  ASSERT_EQ(found[0].objects.size(), 1u);
  EXPECT_EQ(found[0].objects[0].value, 9u) << "the first one";
}

TEST(Checkpoint, MemoryByItsPlace) {
  Allocation memory;
  EXPECT_EQ(blocking(memory), std::nullopt);
  memory.prop_known = true;
  memory.prop.location.type = static_cast<CUmemLocationType>(3);
  EXPECT_EQ(blocking(memory), Blocking::kNumaMemory);
  memory.imported = true;
  EXPECT_EQ(blocking(memory), Blocking::kImported);
  memory.multicast = true;
  EXPECT_EQ(blocking(memory), Blocking::kMulticast);
}

}  // namespace
}  // namespace cuvmm::testing::checkpoint_test
