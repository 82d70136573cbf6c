// SPDX-License-Identifier: Apache-2.0
#include "injected_failures/spec.h"

#include <gmock/gmock.h>

namespace cuvmm::injected_failures {
namespace {

using ::testing::HasSubstr;

Clause only(std::string_view text) {
  const Spec spec = parse_spec(text);
  EXPECT_FALSE(spec.error) << text << ": " << (spec.error ? spec.error->message : "");
  EXPECT_EQ(spec.clauses.size(), 1u) << text;
  return spec.clauses.empty() ? Clause{} : spec.clauses.front();
}

void expect_error(std::string_view text, std::size_t column, const char* words) {
  const Spec spec = parse_spec(text);
  ASSERT_TRUE(spec.error) << text;
  EXPECT_TRUE(spec.clauses.empty());
  EXPECT_EQ(spec.error->column, column) << text << ": " << spec.error->message;
  EXPECT_THAT(spec.error->message, HasSubstr(words));
}

TEST(Spec, ReadsWhichCall) {
  const Clause third = only("cuMemCreate@3=OUT_OF_MEMORY");
  EXPECT_EQ(third.function, "cuMemCreate");
  EXPECT_EQ(third.first, 3u);
  EXPECT_EQ(third.last, 3u);
  EXPECT_EQ(third.code, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(only("cuMemCreate@3+").last, kNoLimit);
  EXPECT_EQ(only("cuMemCreate@3..5").last, 5u);
  EXPECT_EQ(only("cuMemCreate").first, 1u);
  EXPECT_EQ(only("cuMemCreate").last, kNoLimit);
}

TEST(Spec, ReadsConditions) {
  const Clause clause =
      only("cuMemMap[in=grow,at=cache.cc:41,site=1f,device=1,chance=0.25,seed=7]@2=INVALID_VALUE");
  EXPECT_EQ(clause.in, "grow");
  EXPECT_EQ(clause.file, "cache.cc");
  EXPECT_EQ(clause.line, 41);
  EXPECT_EQ(clause.site, 0x1fu);
  EXPECT_EQ(clause.device, 1);
  EXPECT_EQ(clause.chance, 0.25);
  EXPECT_EQ(clause.seed, 7u);
}

TEST(Spec, ReadsSizes) {
  EXPECT_EQ(only("cuMemCreate[size=64M]").size_low, 64u << 20);
  EXPECT_EQ(only("cuMemCreate[size=64M]").size_high, 64u << 20);
  EXPECT_EQ(only("cuMemCreate[size=..1G]").size_low, 0u);
  EXPECT_EQ(only("cuMemCreate[size=2M..4M]").size_high, 4u << 20);
  // A call without a size does not match a lower bound for the size.
  EXPECT_LT(only("cuMemCreate[size=2M..]").size_high, kNoLimit);
}

TEST(Spec, ReadsSeveralCalls) {
  const Spec spec = parse_spec("cuMemCreate@1,cuMemMap[size=..4M,device=0]@2+=ERROR_INVALID_VALUE");
  ASSERT_FALSE(spec.error);
  ASSERT_EQ(spec.clauses.size(), 2u);
  EXPECT_EQ(spec.clauses[1].function, "cuMemMap");
}

TEST(Spec, APatternNamesSeveralFunctions) {
  const Clause clause = only("cuMem*=OUT_OF_MEMORY");
  EXPECT_TRUE(clause.names(EntryPoint::kMemCreate));
  EXPECT_TRUE(clause.names(EntryPoint::kMemSetAccess));
  EXPECT_FALSE(clause.names(EntryPoint::kEventRecord));
  // A function that cannot fail with the code does not fail.
  EXPECT_EQ(clause.answer(EntryPoint::kMemCreate), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(clause.answer(EntryPoint::kMemSetAccess), std::nullopt);
}

TEST(Spec, ACodeThatIsNotDocumentedNeedsAnExclamationMark) {
  expect_error("cuMemSetAccess=OUT_OF_MEMORY", 16,
               "which has INVALID_VALUE, INVALID_DEVICE, NOT_SUPPORTED");
  EXPECT_EQ(only("cuMemSetAccess=OUT_OF_MEMORY!").answer(EntryPoint::kMemSetAccess),
            CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(only("cuMemMap=700!").code, CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST(Spec, SaysWhatIsWrongAndWhere) {
  expect_error("", 1, "expected a function");
  expect_error("cuMemCrate", 1, "no function cuMemCrate");
  EXPECT_EQ(parse_spec("cuMemCrate").error->word, "cuMemCrate");
  expect_error("cuFoo*", 1, "has such a name");
  expect_error("cuMemCreate@x", 13, "expected which call");
  expect_error("cuMemCreate@0", 13, "counted from 1");
  expect_error("cuMemCreate@5..3", 13, "ends before it begins");
  expect_error("cuMemCreate@1=NO_SUCH", 15, "expected a result");
  expect_error("cuMemCreate=SUCCESS", 13, "cannot answer CUDA_SUCCESS");
  expect_error("cuMemCreate[colour=red]", 13, "unknown condition 'colour'");
  expect_error("cuMemCreate[in]", 15, "expected '='");
  expect_error("cuMemCreate[in=]", 16, "expected a value");
  expect_error("cuMemCreate[in=x", 17, "expected ',' or ']'");
  expect_error("cuMemCreate[at=cache.cc]", 16, "a file and a line");
  expect_error("cuMemCreate[size=4Q]", 18, "expected a size");
  expect_error("cuMemCreate[size=4M..2M]", 18, "ends before it begins");
  expect_error("cuMemCreate[size=99999999999T]", 18, "expected a size");
  expect_error("cuMemCreate[chance=2]", 20, "from 0 to 1");
  expect_error("cuMemCreate[site=xyz]", 18, "hexadecimal");
  expect_error("cuMemCreate,", 13, "expected a function");
  expect_error("cuMemPoolGetAccess", 1, "no result is documented");
}

TEST(Spec, MatchesPatterns) {
  EXPECT_TRUE(matches("cuMem*", "cuMemMap"));
  EXPECT_TRUE(matches("*Map*", "cuMemMapArrayAsync"));
  EXPECT_TRUE(matches("*a*b", "xaxbxb"));
  EXPECT_FALSE(matches("cuMem", "cuMemMap"));
  EXPECT_FALSE(matches("*a*b", "xaxbxc"));
}

TEST(Spec, ChanceIsTheSameForTheSameSeed) {
  int some = 0, others = 0;
  for (std::uint64_t count = 1; count <= 10000; ++count) {
    EXPECT_EQ(struck(0.1, 7, count), struck(0.1, 7, count));
    some += struck(0.1, 7, count);
    others += struck(0.1, 7, count) != struck(0.1, 8, count);
  }
  EXPECT_NEAR(some, 1000, 150);
  EXPECT_GT(others, 1000);
  EXPECT_FALSE(struck(0, 7, 1));
  EXPECT_TRUE(struck(1, 7, 1));
}

}  // namespace
}  // namespace cuvmm::injected_failures
