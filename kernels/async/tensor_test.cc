// SPDX-License-Identifier: Apache-2.0
// cp.async.bulk.tensor.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/testing.h"
#include "kernels/texture/tensor_map.h"

namespace cuvmm::kernels {
namespace {

using testing::FlatMemory;
using testing::module_of;
using testing::Ran;
using testing::run_module;

// Memory begins with a map; at kTensor is a tensor of 10 columns and 6 rows, 16 words apart, whose
// elements are 100 * row + column; results lie at kResult.
constexpr std::uint64_t kTensor = 1024, kResult = 8192;
constexpr unsigned kColumns = 10, kRows = 6, kPitch = 16;

TensorMap map_of(unsigned columns, unsigned rows, unsigned char swizzle = 0) {
  TensorMap map{};
  map.address = FlatMemory::kBase + kTensor;
  map.kind = TensorMap::kTiled;
  map.type = 2;  // CU_TENSOR_MAP_DATA_TYPE_UINT32
  map.rank = 2;
  map.swizzle = swizzle;
  map.less_dims[0] = kColumns - 1;
  map.less_dims[1] = kRows - 1;
  map.strides[0] = kPitch * sizeof(std::uint32_t) / 16;
  map.element_strides[0] = map.element_strides[1] = 1;
  map.box[0] = columns | rows << 9;
  return map;
}

Ran run_tensor(const TensorMap& map, const std::string& body, unsigned blocks = 1) {
  std::vector<char> memory(kResult);
  std::memcpy(memory.data(), &map, sizeof map);
  for (std::uint32_t row = 0; row < kRows; ++row) {
    for (std::uint32_t column = 0; column < kColumns; ++column) {
      const std::uint32_t value = 100 * row + column;
      std::memcpy(&memory[kTensor + 4 * (row * kPitch + column)], &value, sizeof value);
    }
  }
  const Shape shape{.grid = {blocks, 1, 1}, .cluster = {blocks, 1, 1}, .has_clusters = true};
  return run_module(
      module_of(
          "mov.u32 %r9, %cluster_ctarank; mul.wide.u32 %rd3, %r9, 2048;\n"
          "add.u64 %rd3, %rd3, %rd0; add.u64 %rd3, %rd3, 8192;\n"
          "mbarrier.init.shared.b64 [barrier], 1;\n" +
              body +
              // The first words of shared memory become results.
              "mov.u32 %r1, bytes; mov.u32 %r2, 0;\n"
              "COPY: ld.shared.u32 %r3, [%r1]; st.global.u32 [%rd3], %r3; add.u32 %r1, %r1, 4;\n"
              "add.u64 %rd3, %rd3, 4; add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 256;\n"
              "@%p2 bra COPY;\n",
          ".shared .align 1024 .b8 bytes[1024]; .shared .align 8 .b64 barrier;\n"),
      shape, 1 << 20, memory);
}

std::string load_tensor(const char* x, const char* y, unsigned bytes, const char* more = "") {
  return "mbarrier.arrive.expect_tx.shared.b64 _, [barrier], " + std::to_string(bytes) +
         ";\n"
         "mov.b32 %r4, " +
         x + "; mov.b32 %r5, " + y + ";\n" + more +
         "WAIT: mbarrier.try_wait.parity.shared.b64 %p1, [barrier], 0; @!%p1 bra WAIT;\n";
}
constexpr const char* kLoadTensor =
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [bytes], "
    "[%rd0, {%r4, %r5}], [barrier];\n";

std::uint32_t tensor_element(int column, int row) {
  const bool is_there = column >= 0 && row >= 0 && column < static_cast<int>(kColumns) &&
                        row < static_cast<int>(kRows);
  return is_there ? static_cast<std::uint32_t>(100 * row + column) : 0;
}

TEST(TensorTest, ABoxIsLoadedWithZerosOutsideOfTheTensor) {
  struct Place {
    int x, y;
  };
  for (const Place place : {Place{2, 1}, Place{-1, -2}, Place{8, 4}}) {
    const Ran ran =
        run_tensor(map_of(4, 3), load_tensor(std::to_string(place.x).c_str(),
                                             std::to_string(place.y).c_str(), 48, kLoadTensor));
    ASSERT_EQ(ran.error, "");
    ASSERT_EQ(ran.fault.what, "");
    for (int row = 0; row < 3; ++row) {
      for (int column = 0; column < 4; ++column)
        EXPECT_EQ(ran.at<std::uint32_t>(kResult / 4 + static_cast<unsigned>(row * 4 + column)),
                  tensor_element(place.x + column, place.y + row));
    }
  }
}

// Row r of 32 bytes of a box lies at 32 * r, and its units of 16 bytes change places by the bits of
// the address from the eighth on.
TEST(TensorTest, UnitsOf16BytesAreSwizzled) {
  for (unsigned char swizzle = 1; swizzle <= 3; ++swizzle) {
    const Ran ran = run_tensor(map_of(8, 6, swizzle), load_tensor("0", "0", 192, kLoadTensor));
    ASSERT_EQ(ran.fault.what, "");
    for (unsigned row = 0; row < 6; ++row) {
      for (unsigned column = 0; column < 8; ++column) {
        const unsigned address = row * 32 + column * 4, pattern = address / 128;
        const unsigned moved = address ^ (pattern % (1U << swizzle) * 16);
        EXPECT_EQ(ran.at<std::uint32_t>(kResult / 4 + moved / 4), 100 * row + column);
      }
    }
  }
}

TEST(TensorTest, EverySecondRowIsLoaded) {
  TensorMap map = map_of(4, 5);
  map.element_strides[1] = 2;
  const Ran ran = run_tensor(map, load_tensor("1", "0", 48, kLoadTensor));
  ASSERT_EQ(ran.fault.what, "");
  for (unsigned row = 0; row < 3; ++row)
    EXPECT_EQ(ran.at<std::uint32_t>(kResult / 4 + row * 4), 200 * row + 1);
}

TEST(TensorTest, ABoxIsStoredAsFarAsTheTensorGoes) {
  const Ran ran = run_tensor(
      map_of(4, 2),
      "st.shared.v4.u32 [bytes], {1, 2, 3, 4}; st.shared.v4.u32 [bytes+16], {5, 6, 7, 8};\n"
      "mov.b32 %r4, 8; mov.b32 %r5, 2;\n"
      "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd0, {%r4, %r5}], [bytes];\n"
      "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n");
  ASSERT_EQ(ran.error, "");
  ASSERT_EQ(ran.fault.what, "");
  const auto at = [&](unsigned column, unsigned row) {
    return ran.at<std::uint32_t>(kTensor / 4 + row * kPitch + column);
  };
  EXPECT_EQ(at(7, 2), 207u);
  EXPECT_EQ(at(8, 2), 1u);
  EXPECT_EQ(at(9, 2), 2u);
  EXPECT_EQ(at(10, 2), 0u);  // behind the row
  EXPECT_EQ(at(9, 3), 6u);
  EXPECT_EQ(at(8, 4), 408u);
}

TEST(TensorTest, ABoxGoesToTheBlocksOfAMask) {
  const Ran ran = run_tensor(
      map_of(4, 1),
      "barrier.cluster.arrive; barrier.cluster.wait; setp.eq.u32 %p4, %r9, 0;\n" +
          load_tensor(
              "3", "5", 16,
              "mov.u16 %h1, 3; @%p4 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::"
              "complete_tx::bytes.multicast::cluster [bytes], [%rd0, {%r4, %r5}], [barrier], "
              "%h1;\n") +
          "barrier.cluster.arrive; barrier.cluster.wait;\n",
      2);
  ASSERT_EQ(ran.error, "");
  ASSERT_EQ(ran.fault.what, "");
  EXPECT_EQ(ran.at<std::uint32_t>(kResult / 4), 503u);
  EXPECT_EQ(ran.at<std::uint32_t>((kResult + 2048) / 4), 503u);
}

TEST(TensorTest, AMapOfAnotherKindIsAFault) {
  TensorMap map = map_of(4, 1);
  map.kind = TensorMap::kIm2col;
  const Ran ran = run_tensor(map, load_tensor("0", "0", 16, kLoadTensor));
  EXPECT_EQ(ran.fault.code, CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_NE(ran.fault.what.find("cuTensorMapEncodeTiled"), std::string::npos) << ran.fault.what;
}

}  // namespace
}  // namespace cuvmm::kernels
