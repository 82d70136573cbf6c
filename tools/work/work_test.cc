// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fmt/core.h>

#include <set>

#include "tools/work/job.h"
#include "tools/work/merge.h"
#include "tools/work/result_file.h"

namespace cuvmm::tools {
namespace {

Stamp stamp_of(const std::string& node) {
  return {"0.1.0", "580.1", 13000, "H200", 1, false, "", node, {}};
}

ShardResult shard_of(const std::string& node, const Shard& shard, std::vector<UnitResult> results) {
  return {{WorkKind::kConformance}, shard, stamp_of(node), std::move(results)};
}

void give(Merger& merger, const ShardResult& result) {
  const std::string text = format_result(result);
  merger.add("folder/" + result_name(result, text), result_name(result, text), text);
}

TEST(WorkJobTest, LabelsReadBack) {
  for (const Job& job : {Job{WorkKind::kConformance}, Job{WorkKind::kPairs}, Job{WorkKind::kDoctor},
                         Job{WorkKind::kBench}, Job{WorkKind::kFuzz, 3600, 10},
                         Job{.kind = WorkKind::kFuzz, .fuzz_seconds = 60, .first_seed = 361},
                         Job{.kind = WorkKind::kRecordings, .recordings = 7}}) {
    const auto read = Job::of_label(job.label());
    ASSERT_TRUE(read) << job.label();
    EXPECT_EQ(read->label(), job.label());
  }
  for (const char* wrong : {"", "fuzz", "fuzz-", "fuzz-10s", "fuzz-s-s", "fuzz-0s-1s",
                            "fuzz--1s-1s", "fuzz-1s-1s-from-", "fuzz-1s-1s-from-1", "conformance2",
                            "recordings-", "recordings-0", "recordings-x"})
    EXPECT_FALSE(Job::of_label(wrong)) << wrong;
}

TEST(WorkJobTest, ShardsReadBack) {
  const auto shard = parse_shard("3/100");
  ASSERT_TRUE(shard);
  EXPECT_EQ(shard->index, 3);
  EXPECT_EQ(shard->count, 100);
  for (const char* wrong : {"", "3", "/", "0/3", "4/3", "-1/3", "1/3x", "1/0", "1/1000000000"})
    EXPECT_FALSE(parse_shard(wrong)) << wrong;
}

TEST(WorkJobTest, ShardsHaveEachUnitOnce) {
  const Job job{WorkKind::kFuzz, 1000, 10};
  std::multiset<std::string> together;
  for (long i = 1; i <= 7; ++i) {
    for (const std::string& unit : units_of(job, {i, 7})) together.insert(unit);
  }
  const std::vector<std::string> all = units(job);
  EXPECT_EQ(together, std::multiset<std::string>(all.begin(), all.end()));
  EXPECT_EQ(all.size(), 100u);
  EXPECT_EQ(seed_of(all.back()), 100u);
  EXPECT_EQ(units({WorkKind::kFuzz, 30, 10, 0, 500}),
            (std::vector<std::string>{"seed-500", "seed-501", "seed-502"}));
}

TEST(WorkResultTest, ReadsBackAndIsHeldToItsName) {
  const ShardResult result =
      shard_of("n1", {2, 3},
               {{"a/b", "pass", "", {"CUDA_SUCCESS"}, ""}, {"c", "fail", "x \"y\"", {}, "p\n"}});
  const std::string text = format_result(result), name = result_name(result, text);
  const ReadResult read = parse_result(text, name);
  ASSERT_EQ(read.error, "");
  EXPECT_EQ(read.result.stamp, result.stamp);
  EXPECT_EQ(format_result(read.result), text);
  std::string changed = text;
  changed.replace(changed.find("fail"), 4, "pass");
  EXPECT_NE(parse_result(changed, name).error.find("was changed"), std::string::npos);
  EXPECT_NE(parse_result(text.substr(0, text.size() / 2), name).error.find("line "),
            std::string::npos);
  EXPECT_EQ(parse_result("{\n\"schema\":1,\n}", name).error.rfind("line 3, column 1", 0), 0u)
      << parse_result("{\n\"schema\":1,\n}", name).error;
  EXPECT_NE(parse_result("{\"schema\":1}", name).error, "");
  EXPECT_NE(parse_result("[]", name).error, "");
}

TEST(WorkMergeTest, NamesTheNodeThatDiffersFromMost) {
  Merger merger;
  for (int node = 1; node <= 20; ++node) {
    give(merger,
         shard_of(fmt::format("n{}", node), {1, 1},
                  {{"a", "pass", "", {"0"}, ""}, {"b", "pass", "", {node == 7 ? "1" : "0"}, ""}}));
  }
  const Merged merged = merger.finish();
  EXPECT_EQ(merged.cases, 2u);
  EXPECT_EQ(merged.results, 40u);
  ASSERT_EQ(merged.outliers.size(), 1u);
  EXPECT_EQ(merged.outliers[0].node, "n7");
  EXPECT_EQ(merged.outliers[0].count, 1u);
  EXPECT_EQ(merged.outliers[0].differences[0].agreeing, 19u);
}

TEST(WorkMergeTest, OfTwoThatDifferNobodyIsBlamed) {
  Merger merger;
  give(merger, shard_of("n1", {1, 1}, {{"a", "pass", "", {"0"}, ""}}));
  give(merger, shard_of("n2", {1, 1}, {{"a", "pass", "", {"1"}, ""}}));
  EXPECT_TRUE(merger.finish().outliers.empty());
}

TEST(WorkMergeTest, OtherGroupsAreNotCompared) {
  Merger merger;
  for (int node = 1; node <= 4; ++node) {
    ShardResult result = shard_of(fmt::format("n{}", node), {1, 1},
                                  {{"a", "pass", "", {node == 4 ? "1" : "0"}, ""}});
    if (node == 4) result.stamp.driver = "999.1";
    give(merger, result);
  }
  EXPECT_TRUE(merger.finish().outliers.empty());
}

Merged merge_times(const std::vector<const char*>& times) {
  Merger merger;
  int node = 0;
  for (const char* each : times) {
    ShardResult result =
        shard_of(fmt::format("n{}", ++node), {1, 1}, {{"t", "measured", "", {each}, ""}});
    result.job = {WorkKind::kBench};
    give(merger, result);
  }
  return merger.finish();
}

TEST(WorkMergeTest, NamesTheNodeThatIsSlow) {
  const Merged merged = merge_times({"580.0 ns", "2000.0 ns", "610.5 ns", "600.0 ns", "300.1 ns"});
  ASSERT_EQ(merged.outliers.size(), 1u);
  EXPECT_EQ(merged.outliers[0].node, "n2");
}

TEST(WorkMergeTest, SmallDifferencesAndFewPeersBlameNobody) {
  EXPECT_TRUE(merge_times({"20.0 ns", "110.0 ns", "20.0 ns", "21.0 ns"}).outliers.empty());
  EXPECT_TRUE(merge_times({"580.0 ns", "2000.0 ns", "600.0 ns"}).outliers.empty());
}

TEST(WorkMergeTest, CountsTheSameResultOnceAndNamesWhatIsMissing) {
  Merger merger;
  const ShardResult result = shard_of("n1", {2, 3}, {{"a", "pass", "", {"0"}, ""}});
  give(merger, result);
  give(merger, result);
  const Merged merged = merger.finish();
  EXPECT_EQ(merged.results, 1u);
  EXPECT_EQ(merged.repeated, 1u);
  EXPECT_EQ(merged.missing, (std::vector<std::string>{"conformance 1/3", "conformance 3/3"}));
}

TEST(WorkMergeTest, FindingsOfSeedsAreOneByWhatIsWrong) {
  Merger merger;
  for (int seed = 1; seed <= 3; ++seed) {
    ShardResult result = shard_of(fmt::format("n{}", seed), {seed, 3}, {});
    result.job = {WorkKind::kFuzz, 30, 10};
    result.results = {{fmt::format("seed-{}", seed),
                       "found",
                       seed == 3 ? "other" : "same",
                       {},
                       std::string(static_cast<std::size_t>(4 - seed), 'x')}};
    give(merger, result);
  }
  const Merged merged = merger.finish();
  ASSERT_EQ(merged.findings.size(), 2u);
  const MergedFinding& same =
      merged.findings[0].what == "same" ? merged.findings[0] : merged.findings[1];
  EXPECT_EQ(same.count, 2u);
  EXPECT_EQ(same.nodes.size(), 2u);
  EXPECT_EQ(same.program, "xx") << "the shortest";
}

TEST(WorkMergeTest, RefusesWhatIsNoResult) {
  Merger merger;
  merger.add("f/x.json", "x.json", "nothing");
  const Merged merged = merger.finish();
  ASSERT_EQ(merged.refused.size(), 1u);
  EXPECT_NE(merged.refused[0].why.find("line 1, column"), std::string::npos)
      << merged.refused[0].why;
}

}  // namespace
}  // namespace cuvmm::tools
