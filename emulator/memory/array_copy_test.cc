// SPDX-License-Identifier: Apache-2.0
// Copies between arrays and linear memory, as an H100 made and refused them.
#include <numeric>
#include <vector>

#include "emulator/testing.h"

namespace cuvmm::emulator::testing {
namespace {

class ArrayCopies : public EmulatorTest {
 protected:
  using Bytes = std::vector<unsigned char>;
  static constexpr size_t kWidth = 12, kHeight = 5, kDepth = 3;  // of 2-byte elements
  static constexpr size_t kRow = kWidth * 2, kAll = kRow * kHeight * kDepth;

  void SetUp() override {
    EmulatorTest::SetUp();
    deep_ = made(kWidth, kHeight, kDepth);
    flat_ = made(kWidth, kHeight, 0);
    bytes_.resize(kAll);
    std::iota(bytes_.begin(), bytes_.end(), static_cast<unsigned char>(1));
  }
  void TearDown() override {
    for (CUarray array : {deep_, flat_}) {
      EXPECT_OK(driver()(calls::ArrayDestroy{array}));
    }
  }
  static CUarray made(size_t width, size_t height, size_t depth) {
    const CUDA_ARRAY3D_DESCRIPTOR shape{width, height, depth, CU_AD_FORMAT_UNSIGNED_INT16, 1, 0};
    CUarray array = nullptr;
    EXPECT_OK(driver()(calls::Array3DCreate{&array, &shape}));
    return array;
  }
  /// From rows without gaps in the host's memory to an array.
  static CUDA_MEMCPY3D to_array(CUarray array, const Bytes& from, size_t width, size_t height,
                                size_t depth) {
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = from.data();
    copy.srcPitch = width;
    copy.srcHeight = height;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = array;
    copy.WidthInBytes = width;
    copy.Height = height;
    copy.Depth = depth;
    return copy;
  }
  static CUresult run(const CUDA_MEMCPY3D& copy) { return driver()(calls::Memcpy3D{&copy}); }
  /// The bytes of the box at (x, y, z).
  static Bytes read(CUarray array, size_t x, size_t y, size_t z, size_t width, size_t height,
                    size_t depth) {
    Bytes out(width * height * depth);
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = array;
    copy.srcXInBytes = x;
    copy.srcY = y;
    copy.srcZ = z;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = out.data();
    copy.dstPitch = width;
    copy.dstHeight = height;
    copy.WidthInBytes = width;
    copy.Height = height;
    copy.Depth = depth;
    EXPECT_OK(run(copy));
    return out;
  }

  CUarray deep_ = nullptr, flat_ = nullptr;
  Bytes bytes_;
};

TEST_F(ArrayCopies, BoxesComeBackFromWhereTheyWere) {
  ASSERT_OK(run(to_array(deep_, bytes_, kRow, kHeight, kDepth)));
  EXPECT_EQ(read(deep_, 0, 0, 0, kRow, kHeight, kDepth), bytes_);
  // An odd byte offset and width are legal, although an element has two bytes.
  const Bytes box = read(deep_, 3, 1, 2, 5, 2, 1);
  const size_t at = 2 * kRow * kHeight + kRow + 3;
  EXPECT_EQ(box, (Bytes{bytes_[at], bytes_[at + 1], bytes_[at + 2], bytes_[at + 3], bytes_[at + 4],
                        bytes_[at + kRow], bytes_[at + kRow + 1], bytes_[at + kRow + 2],
                        bytes_[at + kRow + 3], bytes_[at + kRow + 4]}));
  CUDA_MEMCPY2D across{};  // between arrays; the slices of a 2D copy are 0
  across.srcMemoryType = across.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  across.srcArray = deep_;
  across.dstArray = flat_;
  across.dstXInBytes = 4;
  across.dstY = 1;
  across.WidthInBytes = 6;
  across.Height = 3;
  ASSERT_OK(driver()(calls::Memcpy2D{&across}));
  EXPECT_EQ(read(flat_, 4, 2, 0, 6, 1, 1), Bytes(bytes_.begin() + kRow, bytes_.begin() + kRow + 6));
}

TEST_F(ArrayCopies, BoxesEndInsideTheArray) {
  for (auto [x, y, z] : {std::tuple<size_t, size_t, size_t>{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}) {
    CUDA_MEMCPY3D copy = to_array(deep_, bytes_, kRow, kHeight, kDepth);
    copy.dstXInBytes = x;
    copy.dstY = y;
    copy.dstZ = z;
    EXPECT_EQ(run(copy), CUDA_ERROR_INVALID_VALUE) << x << y << z;
    copy.Height = 0;
    EXPECT_OK(run(copy)) << "a copy of nothing";
  }
  CUDA_MEMCPY3D level = to_array(deep_, bytes_, kRow, 1, 1);
  level.srcLOD = 1;  // of host memory, where nothing reads it
  EXPECT_OK(run(level));
  level.dstLOD = 1;
  EXPECT_EQ(run(level), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ArrayCopies, LinearCopiesStayInTheFirstRow) {
  CUdeviceptr memory = 0;
  ASSERT_OK(driver()(calls::MemAlloc{&memory, 4096}));
  ASSERT_OK(driver()(calls::MemcpyHtoA{flat_, 3, bytes_.data(), kRow - 3}));
  EXPECT_EQ(read(flat_, 3, 0, 0, kRow - 3, 1, 1), Bytes(bytes_.begin(), bytes_.begin() + kRow - 3));
  EXPECT_EQ(driver()(calls::MemcpyHtoA{flat_, 3, bytes_.data(), kRow - 2}),
            CUDA_ERROR_INVALID_VALUE);
  ASSERT_OK(driver()(calls::MemcpyAtoD{memory, flat_, 3, 8}));
  ASSERT_OK(driver()(calls::MemcpyDtoA{deep_, 1, memory, 8}));
  EXPECT_EQ(read(deep_, 1, 0, 0, 8, 1, 1), Bytes(bytes_.begin(), bytes_.begin() + 8));
  ASSERT_OK(symbol<CUresult(CUarray, size_t, CUarray, size_t, size_t)>("cuMemcpyAtoA_v2")(
      flat_, 0, deep_, 1, 8));
  EXPECT_EQ(read(flat_, 0, 0, 0, 8, 1, 1), Bytes(bytes_.begin(), bytes_.begin() + 8));
  EXPECT_EQ(driver()(calls::MemcpyAtoD{memory, flat_, kRow, 1}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(driver()(calls::MemFree{memory}));
}

TEST_F(ArrayCopies, ANodeOfAGraphCopiesAtTheLaunch) {
  using Add =
      CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, const CUDA_MEMCPY3D*, CUcontext);
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec executable = nullptr;
  ASSERT_OK(symbol<CUresult(CUgraph*, unsigned)>("cuGraphCreate")(&graph, 0));
  const CUDA_MEMCPY3D copy = to_array(deep_, bytes_, kRow, kHeight, kDepth);
  ASSERT_OK(symbol<Add>("cuGraphAddMemcpyNode")(&node, graph, nullptr, 0, &copy, context_));
  ASSERT_OK(driver()(calls::GraphInstantiateWithFlags{&executable, graph, 0}));
  ASSERT_OK(driver()(calls::GraphLaunch{executable, nullptr}));
  EXPECT_EQ(read(deep_, 0, 0, 0, kRow, kHeight, kDepth), bytes_);
  EXPECT_OK(driver()(calls::GraphExecDestroy{executable}));
  EXPECT_OK(symbol<CUresult(CUgraph)>("cuGraphDestroy")(graph));
}

TEST_F(ArrayCopies, ALevelHasBytesOfItsOwn) {
  const CUDA_ARRAY3D_DESCRIPTOR shape{16, 8, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0};
  CUmipmappedArray whole = nullptr;
  CUarray first = nullptr, second = nullptr;
  ASSERT_OK(driver()(calls::MipmappedArrayCreate{&whole, &shape, 2}));
  ASSERT_OK(driver()(calls::MipmappedArrayGetLevel{&first, whole, 0}));
  ASSERT_OK(driver()(calls::MipmappedArrayGetLevel{&second, whole, 1}));
  const Bytes ones(16, 1), twos(8, 2);
  ASSERT_OK(driver()(calls::MemcpyHtoA{first, 0, ones.data(), 16}));
  ASSERT_OK(driver()(calls::MemcpyHtoA{second, 0, twos.data(), 8}));
  EXPECT_EQ(driver()(calls::MemcpyHtoA{second, 0, ones.data(), 9}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(read(first, 0, 0, 0, 16, 1, 1), ones);
  EXPECT_EQ(read(second, 0, 0, 0, 8, 1, 1), twos);
  EXPECT_OK(driver()(calls::MipmappedArrayDestroy{whole}));
}

}  // namespace
}  // namespace cuvmm::emulator::testing
