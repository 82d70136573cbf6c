// SPDX-License-Identifier: Apache-2.0
#include "fuzz/ops/text.h"

#include <gtest/gtest.h>

#include "fuzz/generate/generator.h"

namespace cuvmm::fuzz {
namespace {

constexpr Scope kEverything{
    .devices = 3, .processes = 2, .multicast = true, .endpoints = true, .further = true};

TEST(FuzzText, TheTextOfAProgramGivesItBack) {
  Random random(11);
  for (int i = 0; i < 400; ++i) {
    Ops ops = generate(random, swarm(random, kEverything));
    mutate(ops, random, kEverything, 60);
    const std::string text = to_text(ops);
    const TextOps read = from_text(text);
    ASSERT_EQ(read.error, "") << text;
    // The test compares texts, because the text has 0 for a reference to a name that is not bound.
    EXPECT_EQ(to_text(read.ops), text);
  }
}

TEST(FuzzText, ReadsNamesAndNumbersOfOtherWriters) {
  const TextOps read = from_text(
      "init()\nspace = cuMemAddressReserve(size=4M)\nh0 = cuMemCreate(2M, device=1)\n"
      "cuMemMap(space+2M, 2M, h0)\n@t1 cuMemsetD32(space+2M, 0x3020103, 4)\n");
  ASSERT_EQ(read.error, "");
  ASSERT_EQ(read.ops.size(), 4u);
  EXPECT_EQ(read.ops[1].place, 1);
  EXPECT_EQ(read.ops[2].at, 1);
  EXPECT_EQ(read.ops[2].ref, read.ops[0].name);
  EXPECT_EQ(read.ops[2].ref2, read.ops[1].name);
  EXPECT_EQ(read.ops[3].actor, 1);
}

TEST(FuzzText, AnOpOfTheSecondProcessSaysSoAndIsReadBack) {
  const std::string text =
      "cuvmm-program 1\ninit()\n@p1 init()\nh1 = cuMemCreate(2M, device=0, handle_types=posix_fd)\n"
      "d1 = cuMemExportToShareableHandle(h1, posix_fd)\n"
      "@p1 h2 = cuMemImportFromShareableHandle(d1, posix_fd)\n@p1 close(d1)\n"
      "@p1 b1 = host(4, fill=0xcd)\n@p1 cuMemcpyDtoH(b1, 2M, 4)\n";
  const TextOps read = from_text(text);
  ASSERT_EQ(read.error, "");
  ASSERT_EQ(read.ops.size(), 5u);
  EXPECT_EQ(process_of(read.ops[1]), 0);
  EXPECT_EQ(process_of(read.ops[2]), 1);
  EXPECT_EQ(thread_of(read.ops[2]), 0);
  EXPECT_EQ(processes_of(read.ops), 2);
  EXPECT_EQ(to_text(read.ops), text);
}

TEST(FuzzText, SaysWhatNoOpHolds) {
  EXPECT_EQ(from_text("init()\nr0 = cuMemAddressReserve(size=5000)\n").error,
            "2: no op holds this size");
  EXPECT_EQ(from_text("init()\np = cuMemAllocAsync(64)\n").error,
            "2: no op stands for cuMemAllocAsync");
  EXPECT_NE(from_text("init(\n").error, "");
  EXPECT_EQ(from_text("@p2 cuMemRelease(0)\n").error, "1: too many processes");
  EXPECT_EQ(from_text("@p1 @t1 cuMemRelease(0)\n").error, "1: too many threads");
}

}  // namespace
}  // namespace cuvmm::fuzz
