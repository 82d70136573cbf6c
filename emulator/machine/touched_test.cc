// SPDX-License-Identifier: Apache-2.0
#include "emulator/machine/touched.h"
#include "emulator/machine/written.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "emulator/machine/physical.h"

namespace cuvmm::emulator {
namespace {
using ::testing::ElementsAre;
using Span = Touched::Span;

TEST(Touched, AreWholePagesInOrder) {
  Touched touched;
  touched.add(9 * kPage + 5, 9 * kPage + 6);
  touched.add(kPage - 1, kPage + 1);
  touched.add(4 * kPage, 5 * kPage);
  EXPECT_THAT(touched.spans(), ElementsAre(Span{0, 2 * kPage}, Span{4 * kPage, 5 * kPage},
                                           Span{9 * kPage, 10 * kPage}));
}

TEST(Touched, WhatMeetsIsOneSpan) {
  Touched touched;
  for (const std::uint64_t page : {2, 6, 10}) touched.add(page * kPage, (page + 1) * kPage);
  touched.add(3 * kPage, 4 * kPage);  // after the first span
  EXPECT_THAT(touched.spans().front(), (Span{2 * kPage, 4 * kPage}));
  touched.add(5 * kPage, 6 * kPage);  // before the second span
  EXPECT_THAT(touched.spans()[1], (Span{5 * kPage, 7 * kPage}));
  touched.add(3 * kPage, 8 * kPage);  // over both spans, but not the whole third
  EXPECT_THAT(touched.spans(),
              ElementsAre(Span{2 * kPage, 8 * kPage}, Span{10 * kPage, 11 * kPage}));
  touched.add(0, 20 * kPage);
  EXPECT_THAT(touched.spans(), ElementsAre(Span{0, 20 * kPage}));
  touched.add(7 * kPage, 8 * kPage);  // inside a span
  EXPECT_THAT(touched.spans(), ElementsAre(Span{0, 20 * kPage}));
}

TEST(Touched, TooManyBecomeOne) {
  Touched touched;
  for (std::uint64_t i = 1; i <= Touched::kMost; ++i) touched.add(2 * i * kPage, 2 * i * kPage + 1);
  EXPECT_EQ(touched.spans().size(), Touched::kMost);
  touched.add(1000 * kPage, 1000 * kPage + 1);
  EXPECT_THAT(touched.spans(), ElementsAre(Span{2 * kPage, 1001 * kPage}));
}

// The memory has a size that no other test uses.
TEST(Touched, WhatEndedIsZeroWhereItIsUsedAgain) {
  constexpr std::uint64_t kSize = 23 * kPage, kSmall = 20, kMuch = 20 * kPage;
  for (const std::uint64_t touched : {kSmall, kMuch}) {
    char* before = nullptr;
    {
      Physical memory(kSize, {}, false, 0, nullptr);
      before = memory.touch(kPage + 7, touched);
      ASSERT_NE(before, nullptr);
      std::memset(before + kPage + 7, 0x55, touched);
    }
    Physical again(kSize, {}, false, 0, nullptr);
    const char* const now = again.touch(0, kSize);
    ASSERT_NE(now, nullptr);
    if (touched == kSmall) EXPECT_EQ(now, before) << "it is not used again";
    EXPECT_TRUE(std::all_of(now, now + kSize, [](char byte) { return byte == 0; }));
  }
}

// The memory is the parent's as well.
TEST(Touched, WhatEndsInAChildOfForkStaysAsItIs) {
  constexpr std::uint64_t kSize = 31 * kPage;
  std::optional<Physical> memory(std::in_place, kSize, CUmemAllocationProp{}, false, 0, nullptr);
  const char* const bytes = std::strcpy(memory->touch(0, 8), "kept");
  const pid_t child = fork();
  if (child == 0) {
    memory.reset();
    Physical own(kSize, {}, false, 0, nullptr);
    _exit(own.touch(0, 8) == nullptr);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_STREQ(bytes, "kept");
}

TEST(Touched, WhatIsInUseIsNobodyElses) {
  constexpr std::uint64_t kSize = 29 * kPage;
  { Physical(kSize, {}, false, 0, nullptr).touch(0, 1); }
  Physical one(kSize, {}, false, 0, nullptr), other(kSize, {}, false, 0, nullptr);
  EXPECT_NE(one.touch(0, 1), other.touch(0, 1));
}

std::string text(const Written& of, std::uint64_t first, std::uint64_t count) {
  std::string out;
  for (std::uint64_t at = first; at < first + count; ++at) out += of.get(at) ? '1' : '0';
  return out;
}

TEST(Written, BytesAreWrittenOnceAndForEver) {
  Written written(1000);
  ASSERT_TRUE(written);
  written.set(2, 3);
  EXPECT_EQ(text(written, 0, 8), "00111000");
  written.set(60, 200);
  EXPECT_EQ(text(written, 58, 4), "0011");
  EXPECT_EQ(text(written, 256, 8), "11110000");
  written.set(999, 1);
  EXPECT_TRUE(written.get(999));
}

TEST(Written, ACopyTakesWhatItsSourceHas) {
  Written from(100), to(100);
  from.set(1, 2);
  to.set(10, 8);
  to.copy(10, from, 0, 4);
  EXPECT_EQ(text(to, 8, 12), "000110111100");
  to.copy(12, to, 11, 8);
  EXPECT_EQ(text(to, 8, 14), "00011101111000") << "a copy onto itself, as memmove";
}

TEST(Written, WithoutBitsNothingIsKept) {
  Written none;
  EXPECT_FALSE(none);
  none.set(0, 10);
  Written some(10);
  none = std::move(some);
  EXPECT_TRUE(none);
}

}  // namespace
}  // namespace cuvmm::emulator
