// SPDX-License-Identifier: Apache-2.0
#include "fuzz/search/stacked.h"

#include <set>

#include "fuzz/generate/generator.h"
#include "fuzz/search/testing_machine.h"

namespace cuvmm::fuzz {
namespace {

// Each kind of run is made of about a quarter of the programs, also where the programs differ in
// one field only.
TEST(Stacked, AProgramChoosesItsRuns) {
  Random random(8);
  unsigned bare = 0, failing = 0, programs = 0;
  std::set<unsigned> calls;
  for (int i = 0; i < 100; ++i) {
    Ops ops = generate(random, swarm(random, {.devices = 3}));
    for (std::uint8_t place = 0; place < 20; ++place) {
      ops.back().at2 = place;
      const Share share = share_of(ops);
      EXPECT_EQ(share_of(ops).failing, share.failing);
      EXPECT_FALSE(share.bare && share.failing);
      if (share.failing) calls.insert(share.failing);
      bare += share.bare;
      failing += share.failing != 0;
      ++programs;
    }
  }
  for (const unsigned count : {bare, failing}) {
    EXPECT_GT(count, programs / 5);
    EXPECT_LT(count, programs * 3 / 10);
  }
  EXPECT_EQ(*calls.begin(), 1u);
  EXPECT_GT(calls.size(), 30u);
}

// A search meets each call as the one that fails, the last one included.
TEST(Stacked, ASearchFailsEachCallOfAProgram) {
  const TextOps read = from_text(
      "cuvmm-program 1\ninit()\nr1 = cuMemAddressReserve(2M)\nh1 = cuMemCreate(2M, device=0)\n"
      "cuMemMap(r1, 2M, h1)\ncuMemSetAccess(r1, 2M, [device0:rw])\ncuMemsetD8(r1, 7, 16)\n");
  ASSERT_EQ(read.error, "");
  std::vector<bool> failed(read.ops.size());
  Ops ops = read.ops;
  for (std::uint8_t value = 1; value < 255; ++value) {
    ops.back().value = value;
    const Result result = run_share(emulated(), ops);
    EXPECT_EQ(result.problem, "");
    for (std::size_t i = 0; i < ops.size(); ++i) failed[i] = failed[i] || result.steps[i].failed;
  }
  EXPECT_EQ(failed, std::vector<bool>(ops.size(), true));
}

}  // namespace
}  // namespace cuvmm::fuzz
