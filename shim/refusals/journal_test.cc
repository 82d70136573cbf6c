// SPDX-License-Identifier: Apache-2.0
// Tests the journal of refused calls that are not checked, with sentences that drivers wrote.
#include "shim/refusals/journal.h"

#include <gtest/gtest.h>

#include "shim/base/in_flight.h"

namespace cuvmm::shim {
namespace {

void hear(Journal& journal, std::string text) {
  Journal::hear(&journal, 0, text.data(), text.size());
}

TEST(Journal, FoldsByFunctionAndResultAndKeepsTheDriversSentence) {
  Journal journal;
  for (int i = 0; i < 3; ++i) {
    hear(journal, "[17:41:46.727][7][CUDA][E] No such attribute\n");
    hear(journal, "Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuDeviceGetAttribute");
  }
  hear(journal, "Returning 101 (CUDA_ERROR_INVALID_DEVICE) from cuDeviceGetAttribute");
  const std::vector<UncheckedRefusal> all = journal.take();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].function, "cuDeviceGetAttribute");
  EXPECT_EQ(all[0].result, CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(all[0].sentence, "No such attribute");
  EXPECT_EQ(all[0].count, 3u);
  EXPECT_NE(all[0].stack, 0u);
  EXPECT_EQ(all[1].sentence, "") << "what was said belonged to the call before";
  EXPECT_TRUE(journal.take().empty());
}

TEST(Journal, AnswersToQuestionsAreNotNoted) {
  Journal journal;
  hear(journal, "Returning 600 (CUDA_ERROR_NOT_READY) from cuStreamQuery");
  hear(journal, "Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuPointerGetAttribute");
  hear(journal, "Returning 500 (CUDA_ERROR_NOT_FOUND) from cuModuleGetFunction");
  hear(journal,
       "Returning 704 (CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) from cuCtxEnablePeerAccess");
  EXPECT_TRUE(journal.take().empty());
  hear(journal, "Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuModuleGetFunction");
  EXPECT_EQ(journal.take().size(), 1u) << "that is no answer";
}

constexpr std::uint64_t kThread = 7;

TEST(Journal, TheShimAddsFactsToACallThatTheLogToldOf) {
  Journal journal;
  const auto tell = [&](const char* from) {
    journal.note(std::string("Returning 301 (CUDA_ERROR_FILE_NOT_FOUND) from ") + from, kThread,
                 {});
  };
  tell("cuModuleLoad_v2");
  journal.add("cuModuleLoad", CUDA_ERROR_FILE_NOT_FOUND, "no file a", kThread, {});
  tell("cuModuleLoad_v2");
  journal.add("cuModuleLoad", CUDA_ERROR_FILE_NOT_FOUND, "no file b", kThread, {});
  tell("cuModuleLoad_v2");
  journal.add("cuModuleLoad", CUDA_ERROR_FILE_NOT_FOUND, "no file b", kThread, {});
  const std::vector<UncheckedRefusal> all = journal.take();
  std::uint64_t a = 0, b = 0;
  for (const UncheckedRefusal& each : all) {
    EXPECT_FALSE(each.in_driver);
    (each.known == "no file a" ? a : b) += each.count;
  }
  EXPECT_EQ(a, 1u);
  EXPECT_EQ(b, 2u);
}

TEST(Journal, ADriverWithoutALogIsNoReasonForSilence) {
  Journal journal;
  for (int i = 0; i < 2; ++i)
    journal.add("cuModuleLoad", CUDA_ERROR_INVALID_IMAGE, "", kThread, {});
  journal.add("cuModuleLoad", CUDA_ERROR_FILE_NOT_FOUND, "", kThread, {});
  const std::vector<UncheckedRefusal> all = journal.take();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].count, 2u);
  EXPECT_EQ(all[1].count, 1u);
}

TEST(Journal, AnotherThreadsSentenceIsNotTakenForTheCalls) {
  Journal journal;
  journal.note("Returning 200 (CUDA_ERROR_INVALID_IMAGE) from cuModuleLoad", kThread + 1, {});
  journal.add("cuModuleLoad", CUDA_ERROR_INVALID_IMAGE, "", kThread, {});
  const std::vector<UncheckedRefusal> all = journal.take();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].count, 2u);
}

TEST(Journal, CallsThatAreCheckedAreLeftToWhoChecksThem) {
  Journal journal;
  const Caller caller{};
  InFlight checked{.caller = caller};
  {
    const InFlightScope scope(checked);
    hear(journal, "Size is zero");
    hear(journal, "Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuMemCreate");
  }
  EXPECT_TRUE(journal.take().empty());
}

TEST(Journal, WhatIsNoSentenceOfTheLogHurtsNobody) {
  Journal journal;
  for (const char* text : {"", "[", "[]", "Returning ", "Returning x from ", " from ", "\n",
                           "Returning 0 (CUDA_SUCCESS) from cuInit"}) {
    hear(journal, text);
  }
  Journal::hear(&journal, 0, nullptr, 5);
  EXPECT_TRUE(journal.take().empty());
  hear(journal, "Returning 1 (X) from " + std::string(1000, 'f'));
  const std::vector<UncheckedRefusal> all = journal.take();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].function.size(), 64u);
}

TEST(Journal, MoreThanItHasRoomForIsLeftOut) {
  Journal journal;
  for (int i = 0; i < 100; ++i) {
    hear(journal, "Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuFoo" + std::to_string(i));
  }
  EXPECT_EQ(journal.take().size(), 64u);
  journal.clear();
}

}  // namespace
}  // namespace cuvmm::shim
