// SPDX-License-Identifier: Apache-2.0
#include "fuzz/record/recorder.h"

#include <gtest/gtest.h>

namespace cuvmm::fuzz {
namespace {

TEST(Permitted, AKindByTheBeginningOfItsText) {
  constexpr std::string_view kList =
      "cuMemFree: recorded 1 # why\n# a comment\ncuMemMap # at most 2: unknown\n";
  EXPECT_EQ(reason_of("cuMemFree: recorded 1, here 0", 1000, kList), "why");
  EXPECT_EQ(reason_of("cuMemFree: recorded 2, here 0", 1, kList), "");
  EXPECT_EQ(reason_of("a comment", 1, kList), "");
}

TEST(Permitted, ABoundHoldsForOneRecording) {
  constexpr std::string_view kList = "cuMemMap # at most 2: unknown";
  EXPECT_EQ(reason_of("cuMemMap: recorded 1", 2, kList), "at most 2: unknown");
  EXPECT_EQ(reason_of("cuMemMap: recorded 1", 3, kList), "");
}

TEST(RecorderArguments, AreOneJob) {
  const auto parse = [](std::vector<const char*> words) {
    words.insert(words.begin(), "tool");
    return recorder_arguments(static_cast<int>(words.size()), const_cast<char**>(words.data()));
  };
  EXPECT_TRUE(parse({"--driver", "d", "--output", "f", "--seconds", "1.5"}));
  EXPECT_EQ(parse({"--driver", "d", "--output", "f", "--seconds", "1.5"})->record.time.count(),
            1500);
  EXPECT_TRUE(parse({"--driver", "d", "--compare", "f", "--abridge", "g", "--every", "4"}));
  EXPECT_FALSE(parse({"--driver", "d", "--output", "f", "--abridge", "g"}));
  EXPECT_FALSE(parse({"--driver", "d", "--output", "f", "--every", "4"}));
  EXPECT_TRUE(parse({"--print", "f"}));
  EXPECT_FALSE(parse({"--driver", "d", "--print", "f"}));
  EXPECT_FALSE(parse({"--driver", "d", "--output", "f", "--compare", "g"}));
  EXPECT_FALSE(parse({"--driver", "d"}));
  EXPECT_FALSE(parse({"--output", "f"}));
  EXPECT_FALSE(parse({"--driver"}));
  EXPECT_FALSE(parse({"--colour", "red"}));
}

}  // namespace
}  // namespace cuvmm::fuzz
