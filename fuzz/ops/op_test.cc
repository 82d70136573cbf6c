// SPDX-License-Identifier: Apache-2.0
#include "fuzz/ops/op.h"

#include <gtest/gtest.h>

#include "fuzz/generate/generator.h"

namespace cuvmm::fuzz {
namespace {

TEST(Op, BytesGiveTheProgramBack) {
  Random random(7);
  for (int i = 0; i < 200; ++i) {
    const Ops ops = generate(
        random,
        swarm(
            random,
            {.devices = 3, .processes = 2, .multicast = true, .endpoints = true, .further = true}));
    EXPECT_EQ(decode(encode(ops)), ops);
  }
}

TEST(Op, AnyBytesBecomeAProgramThatIsItsOwnCanonicalForm) {
  Random random(8);
  for (int i = 0; i < 500; ++i) {
    std::vector<std::uint8_t> bytes(random.below(600));
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random.next() >> 40);
    const Ops ops = decode(bytes);
    EXPECT_LE(ops.size(), kMostOps);
    EXPECT_EQ(decode(encode(ops)), ops);
  }
  EXPECT_TRUE(decode({}).empty());
}

TEST(Op, OneChangedByteChangesOneOp) {
  Random random(9);
  Style style;
  style.ops = 20;
  const Ops ops = generate(random, style);
  auto bytes = encode(ops);
  bytes[kHeaderBytes + 7 * sizeof(Op) + 5] ^= 0x55;
  const Ops changed = decode(bytes);
  ASSERT_EQ(changed.size(), ops.size());
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (i == 7) continue;
    EXPECT_EQ(changed[i], ops[i]) << i;
  }
}

TEST(Op, AnActorIsAThreadOfTheFirstProcessOrAnother) {
  Op op;
  for (int actor = 0; actor < 256; ++actor) {
    op.actor = static_cast<std::uint8_t>(actor);
    canonicalise(op);
    EXPECT_LT(op.actor, kActors);
    EXPECT_LT(process_of(op), kProcesses);
    EXPECT_LT(thread_of(op), kThreads);
    EXPECT_EQ(actor_of(process_of(op), thread_of(op)), op.actor);
  }
  op.actor = actor_of(1, 0);
  op.code = Code::kMemFree;
  canonicalise(op);
  EXPECT_EQ(process_of(op), 1);
  for (auto code = Code::kExtImport; code < Code::kAlloc;  // process 0 alone
       code = static_cast<Code>(static_cast<int>(code) + 1)) {
    op.actor = actor_of(1, 0);
    op.code = code;
    canonicalise(op);
    EXPECT_EQ(process_of(op), 0);
  }
  for (const Code code : {Code::kAlloc, Code::kIpcGet, Code::kIpcOpen, Code::kIpcClose}) {
    op.actor = actor_of(1, 0);
    op.code = code;
    canonicalise(op);
    EXPECT_EQ(process_of(op), 1);
  }
  op.code = Code::kContext;
  EXPECT_EQ(processes_of({}), 1);
  op.actor = actor_of(1, 0);
  EXPECT_EQ(processes_of({op}), 2);
}

TEST(Op, ADistanceHasOneForm) {
  std::uint8_t granules = 9, odd = 9;
  EXPECT_TRUE(split(3 * kGranule + 4096, granules, odd));
  EXPECT_EQ(granules, 3);
  EXPECT_EQ(kOdd[odd], 4096u);
  EXPECT_FALSE(split(5000, granules, odd));
  Op op;
  op.code = Code::kUnmap;
  op.at = 1;
  op.odd = 9;  // one granule less
  canonicalise(op);
  EXPECT_EQ(op.at, 0);
  EXPECT_EQ(op.odd, 0);
  op.code = Code::kAlloc;  // never of nothing
  op.size = 1;
  op.odd_size = 9;
  canonicalise(op);
  EXPECT_EQ(op.size, 1);
  EXPECT_EQ(op.odd_size, 0);
}

}  // namespace
}  // namespace cuvmm::fuzz
