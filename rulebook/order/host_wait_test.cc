// SPDX-License-Identifier: Apache-2.0
#include "rulebook/order/host_wait.h"

#include <gtest/gtest.h>

#include <string_view>

namespace cuvmm {
namespace {

using Grade = HostWait::Grade;
using For = HostWait::For;

constexpr Place kPlaces[] = {Place::kDevice, Place::kPinned, Place::kPageable, Place::kManaged,
                             Place::kUnknown};

TEST(HostWaits, WhatIsCertainIsDocumentedOrRecorded) {
  for (const auto& line : host_waits::kTransferLines) {
    EXPECT_NE(std::string_view(line.source.documented), "");
    EXPECT_NE(std::string_view(line.source.seen), "");
  }
  for (const auto& line : host_waits::kCallLines) {
    const std::string_view documented = line.source.documented, seen = line.source.seen;
    EXPECT_NE(documented, "") << name(line.call);
    const bool recorded = seen != host_waits::kNotAsked;
    if (line.wait.grade == Grade::kWaits) {
      EXPECT_TRUE(documented != "nothing" || recorded) << name(line.call);
    }
  }
}

TEST(HostWaits, EachLineCounts) {
  for (const auto& line : host_waits::kTransferLines) {
    bool counts = false;
    for (const Place from : kPlaces) {
      for (const Place to : kPlaces) {
        const bool fits =
            (line.from & host_waits::at(from)) != 0 && (line.to & host_waits::at(to)) != 0;
        counts |= fits && host_wait(line.form, from, to) == line.wait;
      }
    }
    EXPECT_TRUE(counts) << line.source.documented;
  }
  for (const auto& line : host_waits::kCallLines) {
    EXPECT_EQ(host_wait(line.call), line.wait) << name(line.call) << " stands there twice";
  }
}

TEST(HostWaits, WhatNobodyKnowsIsNeverCertain) {
  constexpr TransferForm kForms[] = {TransferForm::kCopy, TransferForm::kCopyAsync,
                                     TransferForm::kFill, TransferForm::kFillAsync};
  for (const TransferForm form : kForms) {
    for (const Place place : kPlaces) {
      EXPECT_EQ(host_wait(form, place, Place::kUnknown).grade, Grade::kMayWait);
      EXPECT_EQ(host_wait(form, place, Place::kManaged).grade, Grade::kMayWait);
    }
  }
}

TEST(HostWaits, SyncMemopsConcernsCallsWithoutAStreamAlone) {
  const HostWait itself{Grade::kWaits, For::kItself};
  EXPECT_EQ(host_wait(TransferForm::kCopy, Place::kDevice, Place::kDevice), HostWait{});
  EXPECT_EQ(host_wait_with_sync_memops(TransferForm::kCopy, Place::kDevice, Place::kDevice),
            itself);
  EXPECT_EQ(host_wait_with_sync_memops(TransferForm::kCopyAsync, Place::kDevice, Place::kDevice),
            HostWait{});
}

TEST(HostWaits, ACallThatIsNotThereDoesNotWait) {
  EXPECT_EQ(host_wait(EntryPoint::kMemCreate), HostWait{});
  EXPECT_EQ(host_wait(EntryPoint::kMemFree), (HostWait{Grade::kMayWait, For::kEverything}));
}

}  // namespace
}  // namespace cuvmm
