// SPDX-License-Identifier: Apache-2.0
// cp.async.bulk, cp.reduce.async.bulk and st.async.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/testing.h"

namespace cuvmm::kernels {
namespace {

using testing::module_of;
using testing::Ran;
using testing::run_module;

constexpr const char* kBulkShared =
    ".shared .align 16 .b8 bytes[256];\n.shared .align 8 .b64 barrier;\n";
constexpr const char* kBulkWait =
    "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p1, [barrier], 0; @!%p1 bra WAIT;\n";
constexpr const char* kBlocksMeet = "barrier.cluster.arrive; barrier.cluster.wait;\n";

// The memory begins with the numbers 0, 1, 2 ... of 32 bits.
Ran run_counted(const std::string& body, unsigned blocks = 1) {
  std::vector<char> before(256 * sizeof(std::uint32_t));
  for (std::uint32_t i = 0; i < 256; ++i) std::memcpy(&before[i * sizeof i], &i, sizeof i);
  const Shape shape{.grid = {blocks, 1, 1}, .cluster = {blocks, 1, 1}, .has_clusters = true};
  const Ran ran = run_module(
      module_of("mov.u32 %r2, %cluster_ctarank; mov.u32 %r1, bytes; mov.u32 %r3, barrier;\n"
                "mul.wide.u32 %rd1, %r2, 256; add.u64 %rd1, %rd0, %rd1;\n" +
                    body,
                kBulkShared),
      shape, 1 << 20, before);
  EXPECT_EQ(ran.error, "");
  return ran;
}

TEST(BulkTest, ACopyIsThereWhenItsBarrierOpens) {
  const Ran ran = run_counted(
      "mbarrier.init.shared.b64 [barrier], 1; fence.mbarrier_init.release.cluster;\n"
      "mbarrier.arrive.expect_tx.shared.b64 _, [barrier], 96;\n"
      "mbarrier.test_wait.parity.shared.b64 %p2, [barrier], 0; selp.u32 %r9, 1, 2, %p2;\n"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1+16], [%rd0+32], 64, "
      "[barrier];\n"
      "mbarrier.test_wait.parity.shared.b64 %p2, [barrier], 0; selp.u32 %r10, 1, 2, %p2;\n"
      "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint [bytes], "
      "[%rd0+640], 32, [%r3], %rd5;\n" +
      std::string(kBulkWait) +
      "ld.shared.u32 %r11, [bytes]; ld.shared.u32 %r12, [bytes+32]; ld.shared.u32 %r13, "
      "[bytes+76];\n"
      "st.global.v4.u32 [%rd0+1024], {%r9, %r10, %r11, %r12}; st.global.u32 [%rd0+1040], %r13;\n");
  ASSERT_EQ(ran.fault.what, "");
  const std::uint32_t expected[] = {2, 2, 160, 12, 23};
  for (std::size_t i = 0; i < std::size(expected); ++i)
    EXPECT_EQ(ran.at<std::uint32_t>(256 + i), expected[i]) << i;
}

TEST(BulkTest, ACopyGoesToTheBlocksOfItsMask) {
  const Ran ran = run_counted(
      "mbarrier.init.shared.b64 [barrier], 1; st.shared.u32 [bytes+4], 99;\n" +
          std::string(kBlocksMeet) +
          "setp.eq.u32 %p3, %r2, 1; @%p3 mbarrier.arrive.expect_tx.shared.b64 _, [barrier], 16;\n"
          "setp.eq.u32 %p4, %r2, 2; @%p4 mbarrier.arrive.expect_tx.shared.b64 _, [barrier], 16;\n"
          "setp.eq.u32 %p5, %r2, 0; mov.u16 %h1, 6;\n"
          "@%p5 "
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
          "[bytes], [%rd0+400], 16, [barrier], %h1;\n"
          "@%p5 bra DONE;\n" +
          kBulkWait + "DONE: ld.shared.u32 %r5, [bytes+4]; st.global.u32 [%rd1+1024], %r5;\n" +
          kBlocksMeet,
      3);
  ASSERT_EQ(ran.fault.what, "");
  EXPECT_EQ(ran.at<std::uint32_t>(256), 99u);
  EXPECT_EQ(ran.at<std::uint32_t>(256 + 64), 101u);
  EXPECT_EQ(ran.at<std::uint32_t>(256 + 128), 101u);
}

TEST(BulkTest, ABlockCopiesIntoTheMemoryOfAnother) {
  const Ran ran = run_counted(
      "mbarrier.init.shared.b64 [barrier], 1; add.u32 %r5, %r2, 40; st.shared.u32 [bytes+8], %r5;\n"
      "mbarrier.arrive.expect_tx.shared.b64 _, [barrier], 40;\n" +
          std::string(kBlocksMeet) +
          "xor.b32 %r6, %r2, 1; mapa.shared::cluster.u32 %r7, %r1, %r6;\n"
          "mapa.shared::cluster.u32 %r8, %r3, %r6;\n"
          "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r7+128], "
          "[bytes], "
          "16, [%r8];\n"
          "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r7+64], {%r5, %r2, "
          "%r5, "
          "%r2}, [%r8];\n"
          "mov.b64 %rd4, 77; st.async.shared::cluster.mbarrier::complete_tx::bytes.u64 [%r7+80], "
          "%rd4, "
          "[%r8];\n" +
          kBulkWait +
          "ld.shared.u32 %r9, [bytes+136]; ld.shared.u32 %r10, [bytes+72]; ld.shared.u32 %r11, "
          "[bytes+68]; ld.shared.u32 %r12, [bytes+80];\n"
          "st.global.v4.u32 [%rd1+1024], {%r9, %r10, %r11, %r12};\n" +
          kBlocksMeet,
      2);
  ASSERT_EQ(ran.fault.what, "");
  for (std::uint32_t block = 0; block < 2; ++block) {
    const std::uint32_t expected[] = {41 - block, 41 - block, 1 - block, 77};
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_EQ(ran.at<std::uint32_t>(256 + block * 64 + i), expected[i]) << block << i;
  }
}

TEST(BulkTest, SharedMemoryIsCopiedAndAddedToGlobalMemory) {
  const Ran ran = run_counted(
      "st.shared.v4.u32 [bytes], {1000, 2000, 3000, 4000};\n"
      "cp.async.bulk.global.shared::cta.bulk_group [%rd0+64], [bytes], 16;\n"
      "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd0+128], [bytes], 16;\n"
      "cp.reduce.async.bulk.global.shared::cta.bulk_group.min.s32 [%rd0+192], [bytes], 16;\n"
      "mov.u16 %h2, 0x0ff0;\n"
      "cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%rd0+256], [bytes], 16, %h2;\n"
      "cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; cp.async.bulk.wait_group 0;\n");
  ASSERT_EQ(ran.fault.what, "");
  const std::uint32_t copied[] = {1000, 2000, 3000, 4000}, added[] = {1032, 2033, 3034, 4035},
                      least[] = {48, 49, 50, 51}, masked[] = {64, 2000, 3000, 67};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(ran.at<std::uint32_t>(16 + i), copied[i]);
    EXPECT_EQ(ran.at<std::uint32_t>(32 + i), added[i]);
    EXPECT_EQ(ran.at<std::uint32_t>(48 + i), least[i]);
    EXPECT_EQ(ran.at<std::uint32_t>(64 + i), masked[i]);
  }
}

TEST(BulkTest, SizesAndPlacesAreMultiplesOf16) {
  for (const char* operands :
       {"[bytes], [%rd0], 24", "[bytes+8], [%rd0], 16", "[bytes], [%rd0+4], 16"}) {
    const Ran ran = run_counted(
        "mbarrier.init.shared.b64 [barrier], 1;\n"
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes " +
        std::string(operands) + ", [barrier];\n");
    EXPECT_EQ(ran.fault.code, CUDA_ERROR_MISALIGNED_ADDRESS) << operands;
  }
}

TEST(BulkTest, CopiesOfSingleThreadsArriveAtABarrier) {
  const Ran ran = run_counted(
      "mbarrier.init.shared.b64 [barrier], 1; cp.async.ca.shared.global [bytes], [%rd0+20], 4;\n"
      "cp.async.mbarrier.arrive.shared.b64 [barrier];\n"
      "mbarrier.test_wait.parity.shared.b64 %p2, [barrier], 0; selp.u32 %r9, 1, 2, %p2;\n"
      "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [barrier];\n"
      "mbarrier.test_wait.parity.shared.b64 %p2, [barrier], 0; selp.u32 %r10, 1, 2, %p2;\n"
      "ld.shared.u32 %r11, [bytes]; st.global.u32 [%rd0+1024], %r9;\n"
      "st.global.u32 [%rd0+1028], %r10; st.global.u32 [%rd0+1032], %r11;\n");
  ASSERT_EQ(ran.fault.what, "");
  EXPECT_EQ(ran.at<std::uint32_t>(256), 2u);
  EXPECT_EQ(ran.at<std::uint32_t>(257), 1u);
  EXPECT_EQ(ran.at<std::uint32_t>(258), 5u);
}

}  // namespace
}  // namespace cuvmm::kernels
