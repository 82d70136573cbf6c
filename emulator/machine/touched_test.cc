// SPDX-License-Identifier: Apache-2.0
#include "emulator/machine/touched.h"

#include <gmock/gmock.h>

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
  touched.add(3 * kPage, 4 * kPage);  // behind the first
  EXPECT_THAT(touched.spans().front(), (Span{2 * kPage, 4 * kPage}));
  touched.add(5 * kPage, 6 * kPage);  // before the second
  EXPECT_THAT(touched.spans()[1], (Span{5 * kPage, 7 * kPage}));
  touched.add(3 * kPage, 8 * kPage);  // over both, short of the third
  EXPECT_THAT(touched.spans(),
              ElementsAre(Span{2 * kPage, 8 * kPage}, Span{10 * kPage, 11 * kPage}));
  touched.add(0, 20 * kPage);
  EXPECT_THAT(touched.spans(), ElementsAre(Span{0, 20 * kPage}));
  touched.add(7 * kPage, 8 * kPage);  // inside
  EXPECT_THAT(touched.spans(), ElementsAre(Span{0, 20 * kPage}));
}

TEST(Touched, TooManyBecomeOne) {
  Touched touched;
  for (std::uint64_t i = 1; i <= Touched::kMost; ++i) touched.add(2 * i * kPage, 2 * i * kPage + 1);
  EXPECT_EQ(touched.spans().size(), Touched::kMost);
  touched.add(1000 * kPage, 1000 * kPage + 1);
  EXPECT_THAT(touched.spans(), ElementsAre(Span{2 * kPage, 1001 * kPage}));
}

}  // namespace
}  // namespace cuvmm::emulator
