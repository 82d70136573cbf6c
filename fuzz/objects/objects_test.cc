// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "fuzz/objects/mistakes.h"
#include "fuzz/objects/search.h"
#include "fuzz/search/testing.h"

namespace cuvmm::fuzz::objects {
namespace {

const Functions& emulator() {
  static const Functions* const only = new Functions(load_functions(CUVMM_EMULATOR));
  return *only;
}

constexpr Limits programs(std::uint64_t count) {
  return {.time = std::chrono::minutes(10), .programs = count};
}

TEST(Objects, ATextIsReadAsItIsWritten) {
  const Op op{Code::kRow, {1, 2, 3, 4, 5}};
  EXPECT_EQ(text_of(op), "cuMemcpyAtoA a=1 x=2 b=3 sx=4 w=5");
  const auto read = parse("# a comment\n\n" + text_of(op) + "  # CUDA_SUCCESS\n");
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, Ops{op});
}

TEST(Objects, AWrongTextIsRefused) {
  for (const char* const text :
       {"cuMemcpyXtoA a=1", "cuMemcpyAtoA q=1", "cuMemcpyAtoA a=99", "cuMemcpyAtoA x=9999999",
        "cuMemcpyAtoA x=", "cuMemcpyAtoA x", "cuMemcpyAtoA x=1y"}) {
    EXPECT_FALSE(parse(text)) << text;
  }
}

TEST(Objects, ProgramsOfTheCorpusAgree) {
  ASSERT_TRUE(emulator().error.empty()) << emulator().error;
  const auto files = corpus("objects", ".txt");
  ASSERT_GE(files.size(), 6u);
  for (const auto& file : files) {
    const auto ops = parse(read(file));
    ASSERT_TRUE(ops) << file;
    const Result result = run_alone(emulator(), *ops);
    EXPECT_EQ(result.problem, "") << file << "\n" << result.text;
    EXPECT_EQ(result.skipped, 0u) << file << "\n" << result.text;
  }
}

// Found by the search: freeing the first name freed the second node's memory, which is right.
TEST(Objects, AnAddressThatANodeHasAgainIsNotFreedByItsFirstName) {
  const auto ops = parse(
      "cuGraphCreate g=0\ncuGraphAddMemAllocNode g=0 m=7 bytes=1\ncuGraphAddMemFreeNode g=0 m=7\n"
      "cuGraphAddMemAllocNode g=0 m=15 bytes=1\ncuGraphAddMemFreeNode g=0 m=7\n");
  ASSERT_TRUE(ops);
  const Result result = run_alone(emulator(), *ops);
  EXPECT_EQ(result.problem, "") << result.text;
  EXPECT_EQ(result.skipped, 1u) << result.text;
}

TEST(Objects, SearchedProgramsAgree) {
  const Found found = search(emulator(), 7, programs(300));
  EXPECT_EQ(found.result.problem, "") << found.result.text;
  EXPECT_EQ(found.programs, 300u);
  EXPECT_GT(found.succeeded, found.calls / 2);
}

TEST(Objects, EachMistakeIsFound) {
  for (const Mistake& mistake : mistakes()) {
    const Functions wrong = with_mistake(emulator(), mistake.name);
    ASSERT_EQ(wrong.error, "") << mistake.name;
    EXPECT_NE(search(wrong, 1, programs(4000)).result.problem, "") << mistake.name;
  }
  EXPECT_NE(with_mistake(emulator(), "none").error, "");
}

TEST(Objects, AFindingIsMadeShort) {
  const Functions wrong = with_mistake(emulator(), "module-name");
  const Found found = search(wrong, 1, programs(4000));
  const Shortened less = shorten(wrong, found);
  EXPECT_EQ(less.ops.size(), 2u) << less.result.text;  // a module, and a question for a kernel
  EXPECT_NE(less.result.problem.find("cuModuleGetFunction"), std::string::npos);
}

}  // namespace
}  // namespace cuvmm::fuzz::objects
