// SPDX-License-Identifier: Apache-2.0
#include "shim/findings/ledger.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "shim/report/json_report.h"
#include "shim/report/report_file.h"
#include "shim/report/text_report.h"

namespace cuvmm::shim {
namespace {

using Json = nlohmann::json;

[[gnu::noinline]] StackId stack_here() { return capture_stack(CUVMM_CALLER); }

const RuleInfo& rule(const char* id) { return info(*find_rule(id)); }

Finding map_finding(StackId stack) {
  Finding finding;
  finding.violation = {*find_rule("cuMemMap-offset-zero"),
                       true,
                       "offset is \"4 KiB\", not 0",
                       {{ObjectRef::Kind::kAllocation, 0xabc, 2 << 20, {3, stack}, {7, stack}}}};
  finding.entry = EntryPoint::kMemMap;
  finding.arguments = {{"ptr", "0x700000000000"}, {"offset", "4 KiB"}};
  finding.answer = Answer{.result = CUDA_SUCCESS};
  finding.call_index = 12;
  finding.stack = stack;
  return finding;
}

std::string read(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class LedgerTest : public testing::Test {
 protected:
  void take_at(Finding finding) { ledger_.take(std::move(finding)); }
  std::vector<std::string> announced_;
  Ledger ledger_{{}, [this](const Entry& entry) { announced_.push_back(finding_text(entry)); }};
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("cuvmm-ledger-" + std::to_string(getpid()));
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
};

TEST_F(LedgerTest, RepeatsFoldPerRuleAndCallSiteWithExactCounts) {
  for (int i = 0; i < 1000; ++i) ledger_.take(map_finding(stack_here()));
  ledger_.take(map_finding(stack_here()));  // another line of this function is another call site
  ASSERT_EQ(announced_.size(), 2u);
  ASSERT_NE(ledger_.first(), nullptr);
  EXPECT_EQ(ledger_.first()->count.load(), 1000u);
  EXPECT_EQ(ledger_.totals().errors, 1001u);
  EXPECT_TRUE(ledger_.totals().any());
}

TEST_F(LedgerTest, AdviceIsPrintedAndNotCounted) {
  Finding finding = map_finding(stack_here());
  for (const RuleInfo& info : rules()) {
    if (info.kind == RuleKind::kAdvice) finding.violation.rule = info.rule;
  }
  ASSERT_EQ(info(finding.violation.rule).kind, RuleKind::kAdvice);
  ledger_.take(std::move(finding));
  EXPECT_EQ(announced_.size(), 1u);
  EXPECT_FALSE(ledger_.totals().any());
}

// The first advice about a rule is printed, and later ones are quiet.
TEST_F(LedgerTest, AdviceIsPrintedOncePerRule) {
  for (const char* id : {"cuMemCreate-rdma-boolean", "cuMemAllocFromPoolAsync-bytesize-nonzero"}) {
    for (const EntryPoint entry : {EntryPoint::kMemMap, EntryPoint::kMemUnmap}) {
      Finding finding = map_finding(stack_here());
      finding.violation.rule = *find_rule(id);
      finding.entry = entry;
      for (int i = 0; i < 2; ++i) ledger_.take(finding);
    }
  }
  int loud = 0;
  for (const Entry* entry = ledger_.first(); entry; entry = entry->next.load()) {
    loud += !entry->quiet;
  }
  EXPECT_EQ(loud, 2);
  EXPECT_EQ(ledger_.totals().advice, 8u);
}

// An interrupted thread may hold the lock for long: findings that come meanwhile get no text, but
// are counted.
TEST_F(LedgerTest, AFindingThatWaitsInVainIsCounted) {
  std::atomic<int> step = 0;
  std::thread holder([&] {
    ASSERT_TRUE(ledger_.lock_for_fork());
    step = 1;
    while (step == 1) std::this_thread::yield();
    ledger_.unlock_after_fork();
  });
  while (step == 0) std::this_thread::yield();
  Finding finding = map_finding(stack_here());
  finding.violation.count = 3;
  ledger_.take(std::move(finding));
  step = 2;
  holder.join();
  EXPECT_EQ(announced_.size(), 0u);
  EXPECT_EQ(ledger_.lost(), 3u);
  EXPECT_EQ(ledger_.totals().errors, 3u);
  EXPECT_THAT(summary_text(ledger_, {.calls = 1}),
              testing::HasSubstr("3 errors, 0 undefined, 0 leaks (3 of them without a text"));
}

TEST(LedgerVerbose, NothingIsQuiet) {
  int loud = 0;
  Ledger ledger(
      {}, [&](const Entry& entry) { loud += !entry.quiet; }, /*verbose=*/true);
  Finding finding = map_finding(stack_here());
  finding.violation.rule = *find_rule("cuMemCreate-fabric-channel");
  finding.answer = Answer{.result = CUDA_ERROR_NOT_PERMITTED};
  ledger.take(finding);
  finding.violation.rule = *find_rule("cuMemRetainAllocationHandle-addr-mapped");
  finding.answer = Answer{.result = CUDA_ERROR_INVALID_VALUE};
  ledger.take(finding);
  EXPECT_EQ(loud, 2);
}

TEST_F(LedgerTest, AFindingThatStandsForManyCountsAsMany) {
  Finding finding = map_finding(stack_here());
  finding.violation.count = 1000;
  ledger_.take(finding);
  EXPECT_EQ(ledger_.totals().errors, 1000u);
  EXPECT_EQ(repeats_text(ledger_), "") << "its own text says how many";
}

TEST_F(LedgerTest, TheTextSaysWhatAndWhyAndHow) {
  ledger_.take(map_finding(stack_here()));
  ASSERT_EQ(announced_.size(), 1u);
  const std::string& text = announced_[0];
  EXPECT_THAT(text,
              testing::StartsWith(
                  "cuvmm: error: cuMemMap: offset is \"4 KiB\", not 0 [cuMemMap-offset-zero]\n"));
  EXPECT_THAT(text, testing::HasSubstr("call 12: cuMemMap(ptr=0x700000000000, offset=4 KiB)"));
  EXPECT_THAT(text, testing::HasSubstr(
                        "the driver answered CUDA_SUCCESS; documented: CUDA_ERROR_INVALID_VALUE"));
  EXPECT_THAT(text, testing::HasSubstr("This driver accepts it"));
  EXPECT_THAT(text, testing::HasSubstr("allocation 0xabc (2 MiB), made by call 3"));
  EXPECT_THAT(text, testing::HasSubstr("ended by call 7"));
  EXPECT_THAT(text, testing::HasSubstr(rule("cuMemMap-offset-zero").fix));
}

TEST_F(LedgerTest, TheJsonKeepsTheContract) {
  ledger_.take(map_finding(stack_here()));
  for (int i = 0; i < 2; ++i) {
    Finding leak = map_finding(stack_here());
    for (const RuleInfo& info : rules()) {
      if (info.kind == RuleKind::kLeak) leak.violation.rule = info.rule;
    }
    leak.entry = EntryPoint::kCount;
    leak.answer.reset();
    leak.arguments.clear();
    leak.call_index = 0;
    ledger_.take(std::move(leak));
  }
  ReportContext context;
  context.pid = 42;
  context.driver = "{\"path\":\"/x\",\"version\":13000,\"emulated\":true}";
  context.unchecked = "[\"something\"]";
  context.counts[static_cast<std::size_t>(EntryPoint::kMemMap)] = 5;
  context.alive_bytes = 7;
  const std::string path = folder_ / "r.json";
  ReportFile file;
  file.choose(path, false);
  ASSERT_EQ(file.write(context, ledger_, false), 0);
  const Json report = Json::parse(read(path));
  EXPECT_EQ(report["schema"], 1);
  EXPECT_EQ(report["pid"], 42);
  EXPECT_EQ(report["driver"]["version"], 13000);
  EXPECT_EQ(report["calls"], Json({{"cuMemMap", 5}}));
  EXPECT_EQ(report["unchecked"], Json::array({"something"}));
  EXPECT_EQ(report["summary"], Json({{"error", 1}, {"undefined", 0}, {"leak", 2}}));
  EXPECT_EQ(report["alive"], Json({{"allocations", 0}, {"bytes", 7}, {"reservations", 0}}));
  ASSERT_EQ(report["findings"].size(), 2u);
  const Json& finding = report["findings"][0];
  EXPECT_EQ(finding["rule"], "cuMemMap-offset-zero");
  EXPECT_EQ(finding["kind"], "error");
  EXPECT_EQ(finding["call"], "cuMemMap");
  EXPECT_EQ(finding["arguments"], Json({{"ptr", "0x700000000000"}, {"offset", "4 KiB"}}));
  EXPECT_EQ(finding["message"], "offset is \"4 KiB\", not 0");
  EXPECT_EQ(finding["documented"], Json::array({"CUDA_ERROR_INVALID_VALUE"}));
  EXPECT_EQ(finding["result"], "CUDA_SUCCESS");
  EXPECT_EQ(finding["count"], 1);
  EXPECT_EQ(finding["call_index"], 12);
  ASSERT_FALSE(finding["stack"].empty());
  EXPECT_TRUE(finding["stack"][0].contains("function"));
  EXPECT_TRUE(finding["stack"][0].contains("module"));
  EXPECT_TRUE(finding["stack"][0]["offset"].is_number_unsigned());
  ASSERT_EQ(finding["objects"].size(), 1u);
  EXPECT_EQ(finding["objects"][0]["what"], "allocation");
  EXPECT_EQ(finding["objects"][0]["made_by_call"], 3);
  EXPECT_EQ(finding["objects"][0]["ended_by_call"], 7);
  EXPECT_FALSE(finding["objects"][0]["stack"].empty());
  EXPECT_EQ(finding["fix"], rule("cuMemMap-offset-zero").fix);
  EXPECT_EQ(finding["url"], rule_url(*find_rule("cuMemMap-offset-zero")));
  EXPECT_EQ(report["findings"][1]["kind"], "leak");
  EXPECT_EQ(report["findings"][1]["count"], 2);
  EXPECT_EQ(report["findings"][1]["result"], "");
}

TEST(LedgerSuppressions, SuppressedOnesAreCountedApart) {
  int announced = 0;
  Ledger ledger(Suppressions::parse("rule:cuMemMap-*", "f"), [&](const Entry&) { ++announced; });
  for (int i = 0; i < 3; ++i) ledger.take(map_finding(stack_here()));
  EXPECT_EQ(announced, 0);
  EXPECT_EQ(ledger.suppressed(), 3u);
  EXPECT_EQ(ledger.first(), nullptr);
}

// A signal may end the program while one thread describes a finding and another prints one.
TEST(LedgerAtDeath, AFindingThatAnotherThreadPrintsIsLeftAlone) {
  std::mutex mutex;
  std::condition_variable changed;
  bool printing = false, go_on = false;
  int printed = 0;
  Ledger ledger({}, [&](const Entry&) {
    std::unique_lock lock(mutex);
    ++printed;
    printing = true;
    changed.notify_all();
    changed.wait(lock, [&] { return go_on; });
  });
  std::thread other([&] { ledger.take(map_finding(stack_here())); });
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return printing; });
  }
  const Entry* const entry = ledger.first();
  const char* const text = entry->json.data();
  ledger.hold_announcements();
  ledger.announce_rest(true);
  EXPECT_EQ(entry->json.data(), text) << "the other thread reads these bytes";
  {
    const std::lock_guard lock(mutex);
    EXPECT_EQ(printed, 1);
    go_on = true;
  }
  changed.notify_all();
  other.join();
}

TEST(Summary, NamesRepeatsAndWhatIsInUse) {
  Ledger ledger({}, [](const Entry&) {});
  EXPECT_EQ(summary_text(ledger, {.calls = 1}), "cuvmm: 1 call checked: no findings\n");
  for (int i = 0; i < 3; ++i) ledger.take(map_finding(stack_here()));
  const std::string text =
      summary_text(ledger, {.calls = 9, .in_use = "still in use at the end: 2 streams"});
  EXPECT_THAT(repeats_text(ledger), testing::HasSubstr("3 times: cuMemMap-offset-zero"));
  EXPECT_THAT(text, testing::HasSubstr("9 calls checked: 3 errors, 0 undefined, 0 leaks\n"
                                       "cuvmm: still in use at the end: 2 streams\n"));
}

}  // namespace
}  // namespace cuvmm::shim
