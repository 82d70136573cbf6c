// SPDX-License-Identifier: Apache-2.0
#include "fuzz/finding/shrinker.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "fuzz/generate/generator.h"
#include "fuzz/ops/text.h"

namespace cuvmm::fuzz {
namespace {

std::size_t count(const Ops& ops, Code code) {
  return static_cast<std::size_t>(
      std::count_if(ops.begin(), ops.end(), [&](const Op& op) { return op.code == code; }));
}

TEST(Shrinker, KeepsWhatMattersAndNothingElse) {
  Random random(4);
  Style style;
  style.ops = 80;
  const Ops ops = generate(random, style);
  ASSERT_GE(count(ops, Code::kMap), 2u);
  const auto shows = [](const Ops& candidate) {
    return count(candidate, Code::kMap) >= 2 && count(candidate, Code::kCreate) >= 1;
  };
  const ShrinkResult result = shrink(ops, shows);
  EXPECT_EQ(result.ops.size(), 3u);
  EXPECT_TRUE(shows(result.ops));
  for (const Op& op : result.ops) EXPECT_EQ(op.odd, 0);
}

TEST(Shrinker, OneProcessDoesWhereTwoDoNotMatter) {
  Random random(5);
  Style style;
  style.ops = 80;
  style.processes = 2;
  const Ops ops = generate(random, style);
  ASSERT_EQ(processes_of(ops), 2);
  const auto shows = [](const Ops& candidate) { return count(candidate, Code::kMap) >= 2; };
  EXPECT_EQ(processes_of(shrink(ops, shows).ops), 1);
  const auto both = [](const Ops& candidate) {  // maps something
    bool of[kProcesses] = {};
    for (const Op& op : candidate) of[process_of(op)] |= op.code == Code::kMap;
    return of[0] && of[1];
  };
  const ShrinkResult result = shrink(ops, both);
  EXPECT_EQ(result.ops.size(), 2u);
  EXPECT_EQ(processes_of(result.ops), 2);
}

TEST(Shrinker, StopsAfterSoManyTries) {
  Random random(4);
  Style style;
  style.ops = 60;
  unsigned calls = 0;
  const auto never = [&](const Ops&) { return ++calls, false; };
  const Ops ops = generate(random, style);
  const ShrinkResult result = shrink(ops, never, {.tries = 10});
  EXPECT_EQ(result.ops, ops);
  EXPECT_EQ(calls, 10u);
}

TEST(Shrinker, StopsWhenItsTimeIsUp) {
  Random random(6);
  const Ops ops = generate(random, Style{});
  const ShrinkResult result =
      shrink(ops, [](const Ops&) { return true; }, {.time = std::chrono::milliseconds(0)});
  EXPECT_EQ(result.candidates, 0u);
  EXPECT_EQ(result.ops, ops);
}

std::string shortest(const std::string& text, const std::function<bool(const Ops&)>& shows) {
  const TextOps read = from_text("cuvmm-program 1\ninit()\n" + text);
  EXPECT_EQ(read.error, "");
  return to_text(shrink(read.ops, shows).ops);
}

TEST(Shrinker, ADescriptorThatNobodyHasNeedsNoPool) {
  const auto shows = [](const Ops& ops) {
    return !ops.empty() && ops.back().code == Code::kImport && (ops.back().ref || ops.back().extra);
  };
  EXPECT_EQ(shortest("o1 = cuMemPoolCreate({allocType=pinned, handleTypes=posix_fd, "
                     "location=device0})\nd1 = cuMemPoolExportToShareableHandle(o1, posix_fd)\n"
                     "h2 = cuMemImportFromShareableHandle(d1, posix_fd)\n",
                     shows),
            "cuvmm-program 1\ninit()\nh2 = cuMemImportFromShareableHandle(2147483632, none)\n");
}

TEST(Shrinker, WhatLiesBesideOneObjectIsAnother) {
  const auto shows = [](const Ops& ops) {  // r1, or what it takes to be beside r5
    if (ops.empty() || ops.back().code != Code::kFill) return false;
    const Op& fill = ops.back();
    if (fill.odd == 0) return fill.ref == 1 && count(ops, Code::kReserve) == 1;
    return fill.ref == 5 && count(ops, Code::kReserve) == 1 && count(ops, Code::kAlloc) == 1;
  };
  EXPECT_EQ(shortest("r1 = cuMemAddressReserve(2M)\nr5 = cuMemAlloc(2M)\n"
                     "cuMemsetD8(r5+0xffffffffffe00000, 1, 1)\n",
                     shows),
            "cuvmm-program 1\ninit()\nr1 = cuMemAddressReserve(0)\ncuMemsetD8(r1, 0, 0)\n");
}

TEST(Shrinker, ANameWhoseValueCameBackIsTheNewOnes) {
  const auto shows = [](const Ops& ops) {  // of the import, or of what had its value before
    if (ops.empty() || ops.back().code != Code::kExport || !count(ops, Code::kImport)) return false;
    return ops.back().ref == 4 || (ops.back().ref == 2 && count(ops, Code::kCreate) == 2 &&
                                   count(ops, Code::kRelease) == 1);
  };
  EXPECT_EQ(shortest("h1 = cuMemCreate(0, device=0)\nd2 = cuMemExportToShareableHandle(h1, none)\n"
                     "h2 = cuMemCreate(0, device=0)\ncuMemRelease(h2)\n"
                     "h4 = cuMemImportFromShareableHandle(d2, none)\n"
                     "d1 = cuMemExportToShareableHandle(h2, none)\n",
                     shows),
            "cuvmm-program 1\ninit()\nh4 = cuMemImportFromShareableHandle(0, none)\n"
            "d1 = cuMemExportToShareableHandle(h4, none)\n");
}

TEST(Shrinker, WhatIsBoundByItsAddressMayBeBoundByItsHandle) {
  const auto shows = [](const Ops& ops) {
    if (ops.empty()) return false;
    const Op& bind = ops.back();
    if (bind.flags == 0 || count(ops, Code::kMcCreate) == 0 || bind.ref != 1) return false;
    if (bind.code == Code::kMcBindMem) return bind.ref2 == 2 && count(ops, Code::kCreate) == 1;
    return bind.code == Code::kMcBindAddr && count(ops, Code::kCreate) == 1 &&
           count(ops, Code::kReserve) == 1 && count(ops, Code::kMap) == 1;
  };
  EXPECT_EQ(shortest("h1 = cuMulticastCreate({numDevices=1, size=2M})\n"
                     "h2 = cuMemCreate(2M, device=0)\nr1 = cuMemAddressReserve(4M)\n"
                     "cuMemMap(r1+2M, 2M, h2)\n"
                     "cuMulticastBindAddr(h1, 0, r1+2M, 2M, flags=1)\n",
                     shows),
            "cuvmm-program 1\ninit()\nh1 = cuMulticastCreate({numDevices=0, size=0})\n"
            "h2 = cuMemCreate(0, device=0)\ncuMulticastBindMem(h1, 0, h2, 0, 0, flags=1)\n");
}

TEST(Shrinker, MemoryWithAnAddressIsPlainMemoryWhereThatWillDo) {
  const auto shows = [](const Ops& ops) {
    return !ops.empty() && ops.back().code == Code::kMemFree && ops.back().ref == 7 &&
           count(ops, Code::kAlloc) + count(ops, Code::kPoolAlloc) == 1;
  };
  EXPECT_EQ(shortest("o1 = cuMemPoolCreate({allocType=pinned, location=device0})\n"
                     "r7 = cuMemAllocFromPoolAsync(2M, o1)\ncuMemFree(r7)\n",
                     shows),
            "cuvmm-program 1\ninit()\nr7 = cuMemAlloc(2M)\ncuMemFree(r7)\n");
}

TEST(Shrinker, ATeamIsAsSmallAsItMayBe) {
  const auto shows = [](const Ops& ops) {
    const bool bound = !ops.empty() && ops.back().code == Code::kMcBindMem;
    return bound && ops[0].code == Code::kMcCreate && ops[0].extra != 0 &&
           count(ops, Code::kMcAddDevice) == ops[0].extra;
  };
  EXPECT_EQ(shortest("h1 = cuMulticastCreate({numDevices=3, size=0})\n"
                     "cuMulticastAddDevice(h1, 0)\ncuMulticastAddDevice(h1, 1)\n"
                     "cuMulticastAddDevice(h1, 2)\ncuMulticastBindMem(h1, 0, 0, 0, 0)\n",
                     shows),
            "cuvmm-program 1\ninit()\nh1 = cuMulticastCreate({numDevices=1, size=0})\n"
            "cuMulticastAddDevice(h1, 0)\ncuMulticastBindMem(h1, 0, 0, 0, 0)\n");
}

}  // namespace
}  // namespace cuvmm::fuzz
