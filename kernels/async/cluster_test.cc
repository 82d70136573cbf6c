// SPDX-License-Identifier: Apache-2.0
// Blocks of a cluster: their registers, their barrier, and their shared memory.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "kernels/testing.h"

namespace cuvmm::kernels {
namespace {

using testing::module_of;
using testing::Ran;
using testing::run_module;

Shape clusters_of(unsigned blocks, unsigned cluster, unsigned threads = 1) {
  return {.grid = {blocks, 1, 1},
          .block = {threads, 1, 1},
          .cluster = {cluster, 1, 1},
          .has_clusters = true};
}

// %r1 is the block's number in the grid, %r2 in the cluster, %rd1 the place of the block's word.
constexpr const char* kPlaceInCluster =
    "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %cluster_ctarank;\n"
    "mul.wide.u32 %rd1, %r1, 4; add.u64 %rd1, %rd0, %rd1;\n";
constexpr const char* kMeetInCluster =
    "barrier.cluster.arrive.release; barrier.cluster.wait.acquire;\n";

Ran run_blocks(const std::string& body, const Shape& shape, const std::string& before = "") {
  return run_module(module_of(kPlaceInCluster + body, before), shape);
}

TEST(ClusterTest, ABlockReadsItsPlace) {
  const char* const names[] = {"%clusterid.x",      "%clusterid.y",      "%nclusterid.x",
                               "%nclusterid.y",     "%cluster_ctaid.x",  "%cluster_ctaid.y",
                               "%cluster_ctaid.z",  "%cluster_nctaid.x", "%cluster_nctaid.y",
                               "%cluster_nctaid.z", "%cluster_ctarank",  "%cluster_nctarank"};
  std::string body =
      "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %ctaid.z;\n"
      "mad.lo.u32 %r1, %r2, 6, %r1; mad.lo.u32 %r1, %r3, 24, %r1;\n"
      "mul.wide.u32 %rd1, %r1, 64; add.u64 %rd1, %rd0, %rd1;\n";
  int offset = 0;
  for (const char* name : names) {
    body += "mov.u32 %r9, " + std::string(name) + "; st.global.u32 [%rd1+" +
            std::to_string(offset) + "], %r9;\n";
    offset += 4;
  }
  body +=
      "mov.pred %p1, %is_explicit_cluster; selp.u32 %r9, 7, 8, %p1;\n"
      "st.global.u32 [%rd1+48], %r9;\n";
  const Shape shape{.grid = {6, 4, 2}, .cluster = {3, 2, 2}, .has_clusters = true};
  const Ran ran = run_module(module_of(body), shape);
  ASSERT_EQ(ran.error, "");
  for (unsigned z = 0; z < 2; ++z) {
    for (unsigned y = 0; y < 4; ++y) {
      for (unsigned x = 0; x < 6; ++x) {
        const unsigned in[3] = {x % 3, y % 2, z};
        const std::uint32_t expected[] = {
            x / 3, y / 2, 2, 2, in[0], in[1], in[2], 3, 2, 2, in[0] + 3 * in[1] + 6 * in[2], 12, 7};
        for (unsigned k = 0; k < std::size(expected); ++k)
          EXPECT_EQ(ran.at<std::uint32_t>((x + 6 * y + 24 * z) * 16 + k), expected[k])
              << x << y << z << " " << k;
      }
    }
  }
  const Ran plain =
      run_module(module_of("mov.pred %p1, %is_explicit_cluster; selp.u32 %r9, 7, 8, %p1;\n"
                           "st.global.u32 [%rd0], %r9;\n"));
  EXPECT_EQ(plain.at<std::uint32_t>(0), 8u);
}

// Each block reads the word of the next block of its cluster, by both kinds of addresses.
TEST(ClusterTest, ABlockReadsTheSharedMemoryOfAnother) {
  const std::string body =
      "mad.lo.u32 %r3, %r1, 10, 5; st.shared.u32 [word+4], %r3;\n" + std::string(kMeetInCluster) +
      "add.u32 %r4, %r2, 1; and.b32 %r4, %r4, 3;\n"
      "mov.u32 %r5, word; mapa.shared::cluster.u32 %r6, %r5, %r4;\n"
      "ld.shared::cluster.u32 %r7, [%r6+4];\n"
      "getctarank.shared::cluster.u32 %r8, %r6; mad.lo.u32 %r7, %r8, 1000, %r7;\n"
      "mov.u64 %rd2, word; cvta.shared.u64 %rd2, %rd2; mapa.u64 %rd3, %rd2, %r4;\n"
      "isspacep.shared::cluster %p1, %rd3; isspacep.shared::cta %p2, %rd3;\n"
      "isspacep.shared::cta %p3, %rd2;\n"
      "selp.u32 %r9, 1, 0, %p1; selp.u32 %r10, 2, 0, %p2; selp.u32 %r11, 4, 0, %p3;\n"
      "ld.u32 %r12, [%rd3+4]; sub.u32 %r12, %r12, %r7; atom.add.u32 %r13, [%rd3], 1;\n" +
      kMeetInCluster +
      "ld.shared.u32 %r14, [word]; add.u32 %r12, %r12, %r9; add.u32 %r12, %r12, %r10;\n"
      "add.u32 %r12, %r12, %r11; mad.lo.u32 %r12, %r14, 16, %r12;\n"
      "st.global.u32 [%rd1], %r7; st.global.u32 [%rd1+64], %r12;\n";
  const Ran ran = run_blocks(body, clusters_of(8, 4), ".shared .align 8 .b32 word[4];");
  ASSERT_EQ(ran.error, "");
  ASSERT_EQ(ran.fault.what, "");
  for (unsigned block = 0; block < 8; ++block) {
    const unsigned next = block / 4 * 4 + (block + 1) % 4, rank = next % 4;
    EXPECT_EQ(ran.at<std::uint32_t>(block), rank * 1000 + next * 10 + 5);
    // The other kind of address reads the same; in shared memory of the cluster, not of the block.
    EXPECT_EQ(ran.at<std::uint32_t>(16 + block), 16 + 1 + 4 - rank * 1000);
  }
}

TEST(ClusterTest, AnAddressOfNoBlockIsAFault) {
  const Ran ran = run_blocks(
      "mov.u32 %r5, word; mapa.shared::cluster.u32 %r6, %r5, 2; st.shared::cluster.u32 [%r6], 1;\n",
      clusters_of(2, 2), ".shared .b32 word;");
  EXPECT_EQ(ran.fault.code, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(ran.fault.what.find("another block's shared"), std::string::npos) << ran.fault.what;
}

// Threads of the first block arrive and end; the third block may go on only behind the second one,
// which is slow.
TEST(ClusterTest, NoThreadPassesTheBarrierBeforeAllHaveArrived) {
  const std::string body =
      "setp.eq.u32 %p1, %r2, 0; setp.eq.u32 %p2, %r2, 1;\n"
      "@%p1 bra FIRST; @%p2 bra SECOND;\n"
      "barrier.cluster.arrive.relaxed; barrier.cluster.wait; ld.global.u32 %r3, [%rd0+64];\n"
      "st.global.u32 [%rd0], %r3; bra END;\n"
      "FIRST: barrier.cluster.arrive; bra END;\n"
      "SECOND: mov.u32 %r4, 0;\n"
      "LOOP: add.u32 %r4, %r4, 1; setp.lt.u32 %p3, %r4, 20000; @%p3 bra LOOP;\n"
      "st.global.u32 [%rd0+64], %r4; barrier.cluster.arrive; barrier.cluster.wait;\n"
      "END:\n";
  const Ran ran = run_module(module_of(kPlaceInCluster + body), clusters_of(3, 3, 40), 1 << 26);
  ASSERT_EQ(ran.error, "");
  ASSERT_EQ(ran.fault.what, "");
  EXPECT_EQ(ran.at<std::uint32_t>(0), 20000u);
}

// Other threads of the block may be at work while a warp waits for its cluster.
TEST(ClusterTest, TheBarrierServesManyPhases) {
  const std::string body =
      "mov.u32 %r3, %tid.x; mov.u32 %r4, 0; mov.u32 %r5, word; xor.b32 %r6, %r2, 1;\n"
      "mapa.shared::cluster.u32 %r7, %r5, %r6;\n"
      "LOOP: setp.eq.u32 %p1, %r3, 37; @%p1 st.shared::cluster.u32 [%r7], %r4;\n" +
      std::string(kMeetInCluster) +
      "ld.shared.u32 %r8, [word]; setp.ne.u32 %p2, %r8, %r4; @%p2 trap;\n" + kMeetInCluster +
      "add.u32 %r4, %r4, 1; setp.lt.u32 %p3, %r4, 50; @%p3 bra LOOP;\n"
      "st.global.u32 [%rd1], %r4;\n";
  const Ran ran = run_module(module_of(kPlaceInCluster + body, ".shared .b32 word;"),
                             clusters_of(4, 2, 70), 1 << 26);
  ASSERT_EQ(ran.error, "");
  ASSERT_EQ(ran.fault.what, "");
  for (unsigned block = 0; block < 4; ++block) EXPECT_EQ(ran.at<std::uint32_t>(block), 50u);
}

TEST(ClusterTest, BlocksThatWaitForEachOtherForEverAreAFault) {
  const std::string body =
      "setp.eq.u32 %p1, %r2, 0; @%p1 bra ZERO; bar.sync 1, 64; bra END;\n"
      "ZERO: barrier.cluster.arrive; barrier.cluster.wait;\nEND:\n";
  const Ran ran = run_blocks(body, clusters_of(2, 2, 32));
  EXPECT_EQ(ran.fault.code, CUDA_ERROR_LAUNCH_TIMEOUT);
}

}  // namespace
}  // namespace cuvmm::kernels
