// SPDX-License-Identifier: Apache-2.0
#include "emulator/objects/memory/physical_memory.h"
#include "api/sizes.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace cuvmm::emulator {
namespace {

CUmemAllocationProp on_device(int device) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = device;
  return prop;
}

TEST(PhysicalMemory, AHandleComesBackOnceItIsDead) {
  PhysicalMemory memory;
  const Handle one = memory.add(kGranule, on_device(0), false, 0, nullptr);
  const Handle two = memory.add(kGranule, on_device(0), false, 0, nullptr);
  EXPECT_NE(one, two);
  EXPECT_NE(memory.find(one), nullptr);
  EXPECT_TRUE(memory.drop(one));
  EXPECT_FALSE(memory.drop(one));
  EXPECT_EQ(memory.find(one), nullptr);
  EXPECT_EQ(memory.add(kGranule, on_device(0), false, 0, nullptr), one);
}

TEST(PhysicalMemory, TheLastPropertiesOfADeadHandleAreKnown) {
  PhysicalMemory memory;
  const Handle handle = memory.add(kGranule, on_device(3), false, 0, nullptr);
  EXPECT_FALSE(memory.stale_prop(handle));
  memory.drop(handle);
  ASSERT_TRUE(memory.stale_prop(handle));
  EXPECT_EQ(memory.stale_prop(handle)->location.id, 3);
}

TEST(PhysicalMemory, CountsAsUsedWhileAnExportedDescriptorIsThere) {
  std::uint64_t used = 0;
  PhysicalMemory memory;
  const Handle handle = memory.add(kGranule, on_device(0), true, kGranule, &used);
  const int exported = memory.find(handle)->export_descriptor();
  ASSERT_GE(exported, 0);
  memory.drop(handle);
  EXPECT_EQ(used, kGranule);
  close(exported);
  memory.drop_unheld();
  EXPECT_EQ(used, 0u);
}

}  // namespace
}  // namespace cuvmm::emulator
