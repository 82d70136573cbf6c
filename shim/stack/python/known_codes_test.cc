// SPDX-License-Identifier: Apache-2.0
#include "shim/stack/python/known_codes.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace cuvmm::shim {
namespace {

KnownCode code_at(std::uintptr_t code, std::uint32_t version = 1) {
  return {.code = code,
          .file = 0x100,
          .name = 0x200,
          .lines = 0x300,
          .hashes = 4,
          .version = version,
          .first_line = 6,
          .number = code * version,
          .units = 8};
}

TEST(KnownCodes, WhatIsKeptIsFoundUntilItIsForgotten) {
  const auto codes = std::make_unique<KnownCodes>();
  *codes = {};
  EXPECT_EQ(codes->find(0x1000), nullptr);
  codes->keep(code_at(0x1000));
  codes->keep(code_at(0x2000));
  ASSERT_NE(codes->find(0x1000), nullptr);
  EXPECT_EQ(codes->find(0x1000)->number, 0x1000u);
  EXPECT_EQ(codes->find(0x3000), nullptr);
  codes->forget();
  EXPECT_EQ(codes->find(0x1000), nullptr);
  EXPECT_EQ(codes->find(0x2000), nullptr);
}

TEST(KnownCodes, AnAddressHasOneEntry) {
  const auto codes = std::make_unique<KnownCodes>();
  *codes = {};
  for (std::uint32_t version = 1; version <= 10; ++version) {
    codes->keep(code_at(0x1000, version));
    ASSERT_NE(codes->find(0x1000), nullptr);
    EXPECT_EQ(codes->find(0x1000)->version, version);
  }
}

TEST(KnownCodes, ManyPushOutOthersAndNothingElseIsFound) {
  const auto codes = std::make_unique<KnownCodes>();
  *codes = {};
  constexpr std::uintptr_t kMany = 5000, kStep = 0x1b0;
  std::size_t found = 0;
  for (std::uintptr_t i = 1; i <= kMany; ++i) {
    codes->keep(code_at(i * kStep));
    const KnownCode* const last = codes->find(i * kStep);
    ASSERT_NE(last, nullptr);
    EXPECT_EQ(last->number, i * kStep);
  }
  for (std::uintptr_t i = 1; i <= kMany; ++i) {
    const KnownCode* const known = codes->find(i * kStep);
    if (!known) continue;
    EXPECT_EQ(known->number, i * kStep);
    ++found;
  }
  EXPECT_GT(found, 200u);
  EXPECT_LE(found, 256u);
}

TEST(KnownCodes, EachMemberThatTellsCodesApartIsCompared) {
  const KnownCode known = code_at(0x1000);
  EXPECT_TRUE(code_at(0x1000).same(known));
  std::vector<KnownCode> others(7, known);
  others[0].code = others[1].file = others[2].name = others[3].lines = others[4].hashes = 0x42;
  others[5].version = others[6].first_line = 0x42;
  for (const KnownCode& other : others) EXPECT_FALSE(other.same(known));
  KnownCode found = known;
  found.number = found.units = 0x42;
  EXPECT_TRUE(found.same(known));
}

}  // namespace
}  // namespace cuvmm::shim
