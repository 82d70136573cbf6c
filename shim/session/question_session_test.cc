// SPDX-License-Identifier: Apache-2.0
// Calls that ask, and calls that try: the meaning of the driver's refusal depends on which of the
// two a call is.
#include <gmock/gmock.h>

#include "api/driver/mock_driver.h"
#include "api/sizes.h"
#include "shim/findings/finding_members.h"
#include "shim/findings/ledger.h"
#include "shim/report/text_report.h"
#include "shim/session/session_run.h"
#include "shim/testing/findings.h"
#include "shim/testing/mock_values.h"

namespace cuvmm::shim {
namespace {

using testing::_;
using testing::AllOf;
using testing::DoAll;
using testing::EndsWith;
using testing::HasSubstr;
using testing::NiceMock;
using testing::Not;
using testing::Return;
using testing::SetArgPointee;

class QuestionSession : public testing::Test {
 protected:
  QuestionSession() {
    ON_CALL(mock_, DeviceGetCount(_)).WillByDefault(answers(2));
    ON_CALL(mock_, MemGetAllocationGranularity(_, _, _)).WillByDefault(answers(kGranule));
    ON_CALL(mock_, MemAddressReserve(_, _, _, _, _)).WillByDefault(answers(kBase));
    CUdeviceptr ptr = 0;
    EXPECT_EQ(run(session_, calls::MemAddressReserve{.ptr = &ptr, .size = kGranule}), CUDA_SUCCESS);
  }

  template <class CallStruct>
  [[gnu::noinline]] static CUresult run(Session& session, const CallStruct& call) {
    return session.run(Driver::primary_symbol(CallStruct::kEntryPoint), call, CUVMM_CALLER);
  }
  /// Asks which memory is mapped at a reserved address. No memory is mapped there.
  CUresult ask(Session& session, CUresult answer) {
    ON_CALL(mock_, MemRetainAllocationHandle(_, _)).WillByDefault(Return(answer));
    CUmemGenericAllocationHandle handle = 0;
    return run(session, calls::MemRetainAllocationHandle{.handle = &handle,
                                                         .addr = reinterpret_cast<void*>(kBase)});
  }
  CUresult create(unsigned handle_types, CUresult answer, int device = 0) {
    ON_CALL(mock_, MemCreate(_, _, _, _))
        .WillByDefault(DoAll(SetArgPointee<0>(0xe00), Return(answer)));
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = device;
    prop.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(handle_types);
    CUmemGenericAllocationHandle handle = 0;
    return run(session_, calls::MemCreate{.handle = &handle, .size = kGranule, .prop = &prop});
  }
  const Entry& only() {
    EXPECT_NE(ledger_.first(), nullptr);
    EXPECT_EQ(ledger_.first()->next.load(), nullptr);
    return *ledger_.first();
  }

  static constexpr unsigned kFabric = 8;
  NiceMock<MockDriver> mock_;
  int printed_ = 0;
  Ledger ledger_{{}, [this](const Entry& entry) { printed_ += !entry.quiet; }};
  Session session_{mock_.driver(), {.enforce = false, .emulated = true}, ledger_};
};

// A signal handler or another thread calls ask() at the worst moment: a call that succeeds is
// inside of fell_back() and has already looked for requests.
class AskedMeanwhile : public Findings {
 public:
  bool waits(EntryPoint) const override {
    if (session && !asked) {
      asked = true;
      session->ask([] { ++done; });
    }
    return true;
  }
  bool fell_back(EntryPoint, Refusal::Purpose) override { return false; }

  Session* session = nullptr;
  mutable bool asked = false;
  static inline int done = 0;
};

TEST_F(QuestionSession, WhatIsAskedWhileACallLooksIsDoneByTheNextOne) {
  AskedMeanwhile sink;
  Session session{mock_.driver(), {.enforce = false, .emulated = true}, sink};
  const auto call = [&] {
    CUdeviceptr ptr = 0;
    run(session, calls::MemAddressReserve{.ptr = &ptr, .size = kGranule});
  };
  AskedMeanwhile::done = 0;
  session.ask([] { ++AskedMeanwhile::done; });
  call();
  EXPECT_EQ(AskedMeanwhile::done, 1);
  sink.session = &session;
  call();
  ASSERT_TRUE(sink.asked);
  call();
  EXPECT_EQ(AskedMeanwhile::done, 2);
}

TEST_F(QuestionSession, TheDocumentedRefusalIsAnAnswer) {
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(ask(session_, CUDA_ERROR_INVALID_VALUE), CUDA_ERROR_INVALID_VALUE);
  }
  EXPECT_EQ(only().finding.violation.rule, Rule::kRetainAddrMapped);
  EXPECT_EQ(only().finding.kind(), RuleKind::kAnswer);
  EXPECT_EQ(only().count.load(), 50u) << "all are in the report";
  EXPECT_THAT(finding_members(only()), HasSubstr("\"kind\":\"answer\""));
  EXPECT_FALSE(ledger_.totals().any());
  EXPECT_EQ(ledger_.totals().answers, 50u);
  EXPECT_EQ(printed_, 0);
  EXPECT_EQ(repeats_text(ledger_), "");
  EXPECT_THAT(summary_text(ledger_, {.calls = 50}), HasSubstr("no findings"));
}

// The near misses: the driver accepts the call, dies in it, or answers another code.
TEST_F(QuestionSession, AnythingElseThatTheDriverDoesIsNoAnswer) {
  ask(session_, CUDA_SUCCESS);
  EXPECT_EQ(only().finding.kind(), RuleKind::kError);
  EXPECT_EQ(printed_, 1);
  const Violation& broken = only().finding.violation;
  EXPECT_EQ(kind_of(broken, Answer{.result = CUDA_ERROR_INVALID_VALUE, .crashed = true}),
            RuleKind::kError);
  EXPECT_EQ(kind_of(broken, Answer{.result = CUDA_ERROR_UNKNOWN}), RuleKind::kError);
}

TEST_F(QuestionSession, OnePlaceThatGetsBothIsTwoFindings) {
  for (const CUresult answer : {CUDA_ERROR_INVALID_VALUE, CUDA_SUCCESS}) ask(session_, answer);
  EXPECT_EQ(ledger_.totals().errors, 1u);
  EXPECT_EQ(ledger_.totals().answers, 1u);
}

TEST_F(QuestionSession, AWrongArgumentOfAQuestionIsAnError) {
  ON_CALL(mock_, MemRetainAllocationHandle(_, _)).WillByDefault(Return(CUDA_ERROR_INVALID_VALUE));
  run(session_,
      calls::MemRetainAllocationHandle{.handle = nullptr, .addr = reinterpret_cast<void*>(kBase)});
  EXPECT_EQ(ledger_.totals().errors, 1u) << "cuMemRetainAllocationHandle-handle-nonnull";
}

TEST_F(QuestionSession, EnforceGivesTheSameAnswer) {
  Session strict(mock_.driver(), {.enforce = true, .emulated = true}, ledger_);
  CUdeviceptr ptr = 0;
  run(strict, calls::MemAddressReserve{.ptr = &ptr, .size = kGranule});
  EXPECT_CALL(mock_, MemRetainAllocationHandle(_, _)).Times(0);
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(run(strict, calls::MemRetainAllocationHandle{.handle = &handle,
                                                         .addr = reinterpret_cast<void*>(kBase)}),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(only().finding.kind(), RuleKind::kAnswer);
}

// --- Advice about calls that a program tries

TEST_F(QuestionSession, ATryThatIsFollowedByAnotherWayIsQuiet) {
  for (int i = 0; i < 73; ++i) {
    create(kFabric, CUDA_ERROR_NOT_PERMITTED);
    create(1, CUDA_SUCCESS);
  }
  EXPECT_EQ(only().finding.violation.rule, Rule::kCreateFabricChannel);
  EXPECT_EQ(only().count.load(), 73u);
  EXPECT_EQ(only().handled.load(), 73u);
  EXPECT_EQ(printed_, 0);
  EXPECT_EQ(advice_text(ledger_), "");
  EXPECT_EQ(repeats_text(ledger_), "");
}

TEST_F(QuestionSession, OneFallBackServesEveryTryBeforeIt) {
  for (int i = 0; i < 3; ++i) create(kFabric, CUDA_ERROR_NOT_PERMITTED);
  create(0, CUDA_SUCCESS);
  EXPECT_EQ(only().handled.load(), 3u);
  EXPECT_EQ(advice_text(ledger_), "");
}

TEST_F(QuestionSession, WithoutAFallBackItIsToldOnceWithTheFix) {
  create(1, CUDA_SUCCESS);
  for (int i = 0; i < 3; ++i) create(kFabric, CUDA_ERROR_NOT_PERMITTED);
  create(kFabric | 1, CUDA_ERROR_NOT_PERMITTED);
  create(1, CUDA_SUCCESS, /*device=*/1);  // memory of another device is no fall-back
  create(1, CUDA_ERROR_OUT_OF_MEMORY);    // nor is a call that fails
  EXPECT_EQ(printed_, 0);
  const std::string text = advice_text(ledger_);
  EXPECT_THAT(text, AllOf(HasSubstr("cuvmm: advice: cuMemCreate: "),
                          HasSubstr("[cuMemCreate-fabric-channel]; CUDA_ERROR_NOT_PERMITTED, 4 "
                                    "times, at "),
                          HasSubstr(std::string("\n    fix: ") +
                                    info(Rule::kCreateFabricChannel).fix + "\n"),
                          EndsWith("\n    more: cuvmm explain cuMemCreate-fabric-channel\n")));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
}

TEST_F(QuestionSession, TriesThatComeAfterAFallBackWaitForTheirOwn) {
  create(kFabric, CUDA_ERROR_NOT_PERMITTED);
  create(0, CUDA_SUCCESS);
  create(kFabric, CUDA_ERROR_NOT_PERMITTED);
  EXPECT_EQ(only().handled.load(), 1u);
  EXPECT_THAT(advice_text(ledger_), Not(HasSubstr("times")));
  EXPECT_NE(advice_text(ledger_), "");
}

}  // namespace
}  // namespace cuvmm::shim
