// SPDX-License-Identifier: Apache-2.0
// Other processes see the objects that the model of this process holds: after each call, accepted
// or refused.
#include "shim/recorder/mirror.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>

#include "api/sizes.h"
#include "recorder/holdings/reader.h"
#include "shim/session/mocked_session.h"

namespace cuvmm::shim {
namespace {

using ::testing::_;
using ::testing::Return;

class MirrorTest : public MockedSession {
 protected:
  MirrorTest() {
    std::string name = (std::filesystem::temp_directory_path() / "cuvmm-mirror-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    ON_CALL(mock_, DeviceGetCount(_)).WillByDefault(answers(1));
    ON_CALL(mock_, MemAddressReserve(_, _, _, _, _)).WillByDefault(answers(kBase));
    ON_CALL(mock_, MemCreate(_, _, _, _))
        .WillByDefault(answers(CUmemGenericAllocationHandle{0xe00}));
    session_.show_in(folder_, "libcuda.so.1");
    CUdeviceptr ptr = 0;
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_OK(run(calls::MemAddressReserve{.ptr = &ptr, .size = kGranule}));
    EXPECT_OK(run(calls::MemCreate{&handle, kGranule, &prop, 0}));
  }
  ~MirrorTest() override { std::filesystem::remove_all(folder_); }

  CUresult map() { return run(calls::MemMap{.ptr = kBase, .size = kGranule, .handle = 0xe00}); }
  holdings::Snapshot seen() const {
    std::vector<std::string> problems;
    const std::vector<holdings::View> views = holdings::open_all(folder_, problems);
    EXPECT_TRUE(problems.empty());
    EXPECT_EQ(views.size(), 1u);
    return views.empty() ? holdings::Snapshot{} : views[0].snapshot();
  }

  std::string folder_;
};

TEST_F(MirrorTest, FollowsABlocksLife) {
  EXPECT_EQ(seen().memory[0].allocation.mappings, 0u);
  ASSERT_OK(map());
  holdings::Snapshot now = seen();
  ASSERT_EQ(now.mappings.size(), 1u);
  EXPECT_EQ(now.mappings[0].made.call, 3u);
  EXPECT_TRUE(now.reservations[0].mapped);
  EXPECT_EQ(now.memory[0].allocation.mappings, 1u);
  ASSERT_OK(run(calls::MemRelease{0xe00}));
  EXPECT_EQ(seen().memory[0].allocation.references, 0u);
  ASSERT_OK(run(calls::MemUnmap{kBase, kGranule}));
  now = seen();
  EXPECT_TRUE(now.mappings.empty());
  EXPECT_TRUE(now.memory.empty());
  EXPECT_EQ(now.reservations[0].unmapped.call, 5u);
  ASSERT_OK(run(calls::MemAddressFree{kBase, kGranule}));
  EXPECT_TRUE(seen().reservations.empty());
}

TEST_F(MirrorTest, FollowsAccessReferencesAndSums) {
  ON_CALL(mock_, MemRetainAllocationHandle(_, _))
      .WillByDefault(answers(CUmemGenericAllocationHandle{0xe00}));
  ASSERT_OK(map());
  EXPECT_EQ(seen().sums.used, kGranule);
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  ASSERT_OK(run(calls::MemSetAccess{kBase, kGranule, &access, 1}));
  EXPECT_EQ(seen().mappings[0].access.write, 1u);
  CUmemGenericAllocationHandle again = 0;
  ASSERT_OK(run(calls::MemRetainAllocationHandle{&again, reinterpret_cast<void*>(kBase)}));
  EXPECT_EQ(seen().memory[0].allocation.references, 2u);
  ASSERT_OK(run(calls::MemRelease{0xe00}));
  EXPECT_EQ(seen().memory[0].allocation.references, 1u);
  ASSERT_OK(run(calls::MemUnmap{kBase, kGranule}));
  const holdings::Snapshot now = seen();
  EXPECT_EQ(now.memory[0].allocation.mappings, 0u);
  EXPECT_EQ(now.sums.used, 0u);
  EXPECT_EQ(now.sums.unused, kGranule);
  EXPECT_EQ(now.sums.mappings, 0u);
  ASSERT_OK(run(calls::MemRelease{0xe00}));
  EXPECT_TRUE(seen().memory.empty());
  EXPECT_EQ(seen().sums.unused, 0u);
}

TEST_F(MirrorTest, WhatTheDriverRefusesIsNotThere) {
  EXPECT_CALL(mock_, MemMap(_, _, _, _, _)).WillOnce(Return(CUDA_ERROR_OUT_OF_MEMORY));
  ASSERT_EQ(map(), CUDA_ERROR_OUT_OF_MEMORY);
  const holdings::Snapshot now = seen();
  EXPECT_TRUE(now.mappings.empty());
  EXPECT_EQ(now.memory[0].allocation.mappings, 0u);
}

TEST_F(MirrorTest, WhatTheDriverDoesNotTakeBackStays) {
  ASSERT_OK(map());
  EXPECT_CALL(mock_, MemUnmap(_, _)).WillOnce(Return(CUDA_ERROR_UNKNOWN));
  ASSERT_EQ(run(calls::MemUnmap{kBase, kGranule}), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(seen().mappings.size(), 1u);
  EXPECT_EQ(seen().memory[0].allocation.mappings, 1u);
}

TEST_F(MirrorTest, ItsFileGoesWithTheProcess) {
  session_.stop_showing(std::chrono::milliseconds(100));
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

}  // namespace
}  // namespace cuvmm::shim
