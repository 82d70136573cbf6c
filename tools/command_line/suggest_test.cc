// SPDX-License-Identifier: Apache-2.0
#include "tools/command_line/suggest.h"

#include <gmock/gmock.h>

namespace cuvmm::tools {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(EditDistance, CountsEdits) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("error", "eror"), 1u);
}

TEST(EditDistance, SwappedNeighboursAreOneEdit) { EXPECT_EQ(edit_distance("ab", "ba"), 1u); }

TEST(EditDistance, CaseDoesNotCount) { EXPECT_EQ(edit_distance("cumemmap", "cuMemMap"), 0u); }

const std::vector<std::string> kNames = {"cuMemMap-offset-zero", "cuMemMap-flags-zero",
                                         "cuMemCreate-size-nonzero", "run", "rules"};

TEST(Nearest, ClosestFirst) {
  EXPECT_THAT(nearest("cuMemMap-ofset-zero", kNames, 1), ElementsAre("cuMemMap-offset-zero"));
  EXPECT_THAT(nearest("rnu", kNames), ElementsAre("run"));
}

TEST(Nearest, PartOfAName) {
  EXPECT_THAT(nearest("flags-zero", kNames), ElementsAre("cuMemMap-flags-zero"));
}

TEST(Nearest, NothingNear) { EXPECT_THAT(nearest("teapot", kNames), IsEmpty()); }

TEST(DidYouMean, ListsChoicesAsASentence) {
  EXPECT_EQ(did_you_mean("teapot", kNames), "");
  EXPECT_EQ(did_you_mean("rul", kNames), "; did you mean rules or run?");
}

}  // namespace
}  // namespace cuvmm::tools
