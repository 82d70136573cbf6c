// SPDX-License-Identifier: Apache-2.0
#include "tools/fail/judge.h"

#include <gmock/gmock.h>
#include <signal.h>

namespace cuvmm::tools {
namespace {

using ::testing::HasSubstr;

Json frame(const char* function, std::uint64_t offset) {
  return {{"function", function},
          {"module", "/opt/app"},
          {"offset", offset},
          {"file", "/src/cache.cc"},
          {"line", 41u}};
}

Json finding(const char* rule, const char* kind, std::uint64_t offset, int pid = 7,
             std::uint64_t count = 1) {
  return {{"rule", rule},   {"kind", kind}, {"message", "it is wrong"},
          {"count", count}, {"pid", pid},   {"stack", Json::array({frame("grow()", offset)})}};
}

Json log_with(std::uint64_t injections, std::uint64_t calls_after, bool returned) {
  return {{"schema", 1},
          {"pid", 7},
          {"ended", "exit"},
          {"returned", returned},
          {"injections", injections},
          {"calls_after", calls_after},
          {"injected", Json::array({{{"call", "cuMemMap"}}})},
          {"left", Json::array()}};
}

Json left(const char* what, std::uint64_t count) {
  return {{"what", what},
          {"count", count},
          {"bytes", 2097152},
          {"stack", Json::array({frame("allocate()", 16)})}};
}

Outcome outcome(int exit_code, const Json& findings, const Json& log, const char* output = "") {
  Outcome made;
  made.exit_code = exit_code;
  made.output = output;
  // Parsed from text, because numbers that are read from a file are unsigned.
  add_report(made, Json::parse(Json{{"findings", findings}}.dump()));
  add_log(made, Json::parse(log.dump()));
  return made;
}

class JudgeTest : public ::testing::Test {
 protected:
  void plain(const Json& findings = Json::array(), const Json& objects = Json::array(),
             const char* output = "sum 1\n") {
    Json log = log_with(0, 0, true);
    log["left"] = objects;
    baseline_.add(outcome(0, findings, log, output));
  }
  Judgement judged(int exit_code, const Json& findings, const Json& log,
                   const char* output = "sum 1\n") {
    return judge(baseline_, outcome(exit_code, findings, log, output));
  }
  const Json none_ = Json::array();
  Baseline baseline_;
};

TEST_F(JudgeTest, CleanEndsAsThePlainRun) {
  plain();
  EXPECT_EQ(judged(0, none_, log_with(1, 5, true)).verdict, Verdict::kClean);
  EXPECT_EQ(judged(0, none_, log_with(1, 5, true), "note\nsum 1\n").verdict, Verdict::kClean);
}

TEST_F(JudgeTest, HandledEndsOtherwise) {
  plain();
  EXPECT_EQ(judged(1, none_, log_with(1, 5, true), "").verdict, Verdict::kHandled);
}

TEST_F(JudgeTest, SuccessWithoutTheOutputIsAWrongExit) {
  plain();
  EXPECT_EQ(judged(0, none_, log_with(1, 5, true), "").verdict, Verdict::kWrongExit);
  EXPECT_EQ(judged(0, none_, log_with(1, 5, true), "sum 2\n").verdict, Verdict::kWrongExit);
}

TEST_F(JudgeTest, OutputThatAlwaysDiffersIsNotCompared) {
  plain(none_, none_, "at 0x1\n");
  plain(none_, none_, "at 0x2\n");
  EXPECT_EQ(judged(0, none_, log_with(1, 5, true), "at 0x3\n").verdict, Verdict::kClean);
}

TEST_F(JudgeTest, AFindingIsNewByItsPlace) {
  plain(Json::array({finding("cuMemMap-free", "error", 8)}));
  const auto here =
      judged(1, Json::array({finding("cuMemMap-free", "error", 8)}), log_with(1, 5, true));
  EXPECT_EQ(here.verdict, Verdict::kHandled);
  const auto there =
      judged(1, Json::array({finding("cuMemMap-free", "error", 9)}), log_with(1, 5, true));
  EXPECT_EQ(there.verdict, Verdict::kFinding);
  EXPECT_THAT(there.what, HasSubstr("cuMemMap-free in grow() at cache.cc:41: it is wrong"));
}

TEST_F(JudgeTest, AdviceIsNoFinding) {
  plain();
  EXPECT_EQ(judged(1, Json::array({finding("cuMemCreate-fits", "advice", 8)}), log_with(1, 5, true))
                .verdict,
            Verdict::kHandled);
}

TEST_F(JudgeTest, MoreLeaksThanThePlainRunHasAreOne) {
  plain(Json::array({finding("cuMemCreate-leak", "leak", 8, 7, 2)}));
  const auto leaks = [&](std::uint64_t count) {
    return judged(1, Json::array({finding("cuMemCreate-leak", "leak", 8, 7, count)}),
                  log_with(1, 5, true))
        .verdict;
  };
  EXPECT_EQ(leaks(1), Verdict::kHandled);
  EXPECT_EQ(leaks(2), Verdict::kHandled);
  EXPECT_EQ(leaks(3), Verdict::kLeak);
}

TEST_F(JudgeTest, WhatIsStillThereIsALeakIfTheProgramCleansUpOtherwise) {
  plain();
  Json log = log_with(1, 5, true);
  log["left"] = Json::array({left("reservation", 1)});
  const auto leak = judged(1, none_, log);
  EXPECT_EQ(leak.verdict, Verdict::kLeak);
  EXPECT_THAT(leak.what,
              HasSubstr("1 reservation (2097152 bytes), made in allocate() at cache.cc:41"));
}

TEST_F(JudgeTest, AProgramThatNeverCleansUpLeavesOtherThings) {
  plain(none_, Json::array({left("reservation", 1)}));
  Json log = log_with(1, 5, true);
  log["left"] = Json::array({left("reservation", 4)});
  EXPECT_EQ(judged(1, none_, log).verdict, Verdict::kHandled);
}

// A program that calls exit(1) right after a failed call leaves its memory to the system.
TEST_F(JudgeTest, AnEndAtOnceIsNoLeak) {
  plain();
  const Json leak = Json::array({finding("cuMemCreate-leak", "leak", 8)});
  for (const Json& end : {log_with(1, 0, true), log_with(1, 5, false)}) {
    Json log = end;
    log["left"] = Json::array({left("reservation", 1)});
    EXPECT_EQ(judged(1, leak, log).verdict, Verdict::kHandled) << end;
  }
}

// An object stays if cuvmm made its release fail. That is no leak of the program.
TEST_F(JudgeTest, ACallThatGivesUpAndFailsLeavesNoLeak) {
  plain();
  Json log = log_with(1, 5, true);
  log["injected"] = Json::array({{{"call", "cuMemRelease"}}});
  log["left"] = Json::array({left("allocation", 1)});
  EXPECT_EQ(judged(1, none_, log).verdict, Verdict::kHandled);
}

TEST_F(JudgeTest, CrashesAndHangsComeFirst) {
  plain();
  Outcome made =
      outcome(139, Json::array({finding("cuMemMap-free", "error", 8)}), log_with(1, 5, true));
  made.signal = SIGSEGV;
  EXPECT_EQ(judge(baseline_, made).verdict, Verdict::kCrash);
  EXPECT_THAT(judge(baseline_, made).what, HasSubstr("signal 11"));
  made.signal = 0;
  made.timed_out = true;
  EXPECT_EQ(judge(baseline_, made).verdict, Verdict::kHang);
}

TEST(SaysAsMuch, AllowsMoreLinesBetween) {
  EXPECT_TRUE(says_as_much("a\nx\nb\n", "a\nb\n"));
  EXPECT_TRUE(says_as_much("", ""));
  EXPECT_FALSE(says_as_much("b\na\n", "a\nb\n"));
  EXPECT_FALSE(says_as_much("a\n", "a\na\n"));
}

Json python_frame(const char* function, unsigned line) {
  return {{"function", function}, {"file", "/src/two.py"}, {"line", line}, {"language", "python"}};
}

TEST(PlaceText, OfPythonIsItsLine) {
  const Json binding = {{"module", "/lib/libffi.so.8"}, {"offset", std::uint64_t{0x6f7a}}};
  EXPECT_EQ(place_text(Json::array({binding, python_frame("careful", 5), python_frame("main", 9)})),
            "careful at two.py:5");
  EXPECT_EQ(place_text(Json::array({frame("grow()", 8), binding, python_frame("careful", 5)})),
            "grow() at cache.cc:41, called by careful at two.py:5");
  EXPECT_EQ(place_text(Json::array({binding})), "libffi.so.8+0x6f7a");
}

}  // namespace
}  // namespace cuvmm::tools
