// SPDX-License-Identifier: Apache-2.0
// Arrays: the driver tells how large the tiles of a sparse array are, and gives handles out again.
#include <gmock/gmock.h>

#include "shim/session/mocked_session.h"

namespace cuvmm::shim {
namespace {

using testing::_;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Return;

const auto kSomeArray = reinterpret_cast<CUarray>(std::uintptr_t{0x7000});
const auto kSomeMipmap = reinterpret_cast<CUmipmappedArray>(std::uintptr_t{0x8000});
const auto kArraysContext = reinterpret_cast<CUcontext>(std::uintptr_t{0x10});

class ArraySession : public MockedSession {
 protected:
  ArraySession() : MockedSession({}) {
    tiles_.tileExtent = {128, 128, 1};
    ON_CALL(mock_, DeviceGetCount(_)).WillByDefault(answers(2));
    ON_CALL(mock_, CtxGetCurrent(_)).WillByDefault(answers(kArraysContext));
    ON_CALL(mock_, CtxGetDevice(_)).WillByDefault(answers(0));
    ON_CALL(mock_, Array3DCreate(_, _)).WillByDefault(answers(kSomeArray));
    ON_CALL(mock_, MipmappedArrayCreate(_, _, _)).WillByDefault(answers(kSomeMipmap));
    ON_CALL(mock_, ArrayGetSparseProperties(_, _)).WillByDefault(answers(tiles_));
    ON_CALL(mock_, MipmappedArrayGetSparseProperties(_, _)).WillByDefault(answers(tiles_));
  }
  void make(unsigned flags) {
    CUarray array = nullptr;
    CUDA_ARRAY3D_DESCRIPTOR shape{512, 512, 0, CU_AD_FORMAT_FLOAT, 1, flags};
    ASSERT_EQ(run(calls::Array3DCreate{&array, &shape}), CUDA_SUCCESS);
  }
  /// UNMAP of a tile, which needs no memory there.
  void unmap_tile(unsigned x) {
    CUarrayMapInfo info{};
    info.resource.array = kSomeArray;
    info.subresource.sparseLevel = {0, 0, x, 0, 0, 128, 128, 1};
    info.memOperationType = CU_MEM_OPERATION_TYPE_UNMAP;
    info.deviceBitMask = 1;
    run(calls::MemMapArrayAsync{&info, 1, nullptr});
  }

  CUDA_ARRAY_SPARSE_PROPERTIES tiles_{};
};

TEST_F(ArraySession, OfASparseOneTheDriverTellsTheTiles) {
  EXPECT_CALL(mock_, ArrayGetSparseProperties(_, kSomeArray)).Times(1);
  make(CUDA_ARRAY3D_SPARSE);
  unmap_tile(128);
  EXPECT_THAT(findings_.rules(), IsEmpty());
  unmap_tile(64);
  EXPECT_THAT(findings_.rules(), ElementsAre("cuMemMapArrayAsync-tile-multiple"));
}

TEST_F(ArraySession, OfAMipmappedOneToo) {
  CUmipmappedArray array = nullptr;
  CUDA_ARRAY3D_DESCRIPTOR shape{512, 512, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SPARSE};
  EXPECT_CALL(mock_, MipmappedArrayGetSparseProperties(_, kSomeMipmap)).Times(1);
  ASSERT_EQ(run(calls::MipmappedArrayCreate{&array, &shape, 2}), CUDA_SUCCESS);
  CUarrayMapInfo info{};
  info.resourceType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  info.resource.mipmap = kSomeMipmap;
  info.subresource.sparseLevel = {1, 0, 0, 0, 0, 256, 256, 1};
  info.memOperationType = CU_MEM_OPERATION_TYPE_UNMAP;
  info.deviceBitMask = 1;
  run(calls::MemMapArrayAsync{&info, 1, nullptr});
  EXPECT_THAT(findings_.rules(), IsEmpty());
  info.subresource.sparseLevel.extentHeight = 200;
  run(calls::MemMapArrayAsync{&info, 1, nullptr});
  EXPECT_THAT(findings_.rules(), ElementsAre("cuMemMapArrayAsync-tile-multiple"));
}

TEST_F(ArraySession, AnotherOneIsNotAskedAbout) {
  EXPECT_CALL(mock_, ArrayGetSparseProperties(_, _)).Times(0);
  make(0);
  unmap_tile(0);
  EXPECT_THAT(findings_.rules(), ElementsAre("cuMemMapArrayAsync-sparse-array"));
}

TEST_F(ArraySession, TilesThatTheDriverDoesNotTellAreNotJudged) {
  EXPECT_CALL(mock_, ArrayGetSparseProperties(_, _)).WillOnce(Return(CUDA_ERROR_INVALID_VALUE));
  make(CUDA_ARRAY3D_SPARSE);
  unmap_tile(64);
  EXPECT_THAT(findings_.rules(), IsEmpty());
}

TEST_F(ArraySession, ASecondEndIsFoundOnlyWhereTheDriverRefusesIt) {
  make(0);
  ASSERT_EQ(run(calls::ArrayDestroy{kSomeArray}), CUDA_SUCCESS);
  // A call that the session did not see has made an array with this handle.
  ASSERT_EQ(run(calls::ArrayDestroy{kSomeArray}), CUDA_SUCCESS);
  EXPECT_THAT(findings_.rules(), IsEmpty());
  EXPECT_CALL(mock_, ArrayDestroy(_)).WillRepeatedly(Return(CUDA_ERROR_INVALID_HANDLE));
  run(calls::ArrayDestroy{kSomeArray});
  EXPECT_THAT(findings_.rules(), ElementsAre("cuArrayDestroy-once"));
}

}  // namespace
}  // namespace cuvmm::shim
