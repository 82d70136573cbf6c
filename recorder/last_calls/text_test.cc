// SPDX-License-Identifier: Apache-2.0
#include "recorder/last_calls/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "recorder/last_calls/writer.h"

namespace cuvmm::last_calls {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint64_t kBase = 0x700000000000, kPage = 2 << 20;

class Text : public ::testing::Test {
 protected:
  Text() {
    fill_rows(image_->entries);
    writer_.start(image_.get());
    writer_.note_stack(9, frames_);
  }
  std::uint64_t call(EntryPoint entry, const Words& words = {}) {
    const auto sequence = writer_.begin(me_, entry, words);
    writer_.end(me_, sequence, 0);
    return sequence;
  }
  void unmap(std::uint64_t base) {
    const auto sequence = writer_.begin(me_, EntryPoint::kMemUnmap, {base, kPage});
    writer_.note_end(me_, {ObjectKind::kMapping, -1, base, kPage, 1, 2, 9});
    writer_.end(me_, sequence, 0);
  }
  Reading read() {
    Reading reading;
    EXPECT_EQ(
        read_image({reinterpret_cast<const std::byte*>(image_.get()), sizeof(Image)}, reading), "");
    return reading;
  }
  std::string explained() {
    return explanation_text(
        read(), [](const std::vector<std::uint64_t>&) { return std::vector<std::string>{"#0 f"}; },
        "  ");
  }

  const std::uintptr_t frames_[1] = {0x42};
  std::unique_ptr<Image> image_ = std::make_unique<Image>();
  Writer writer_;
  ThreadPlace me_;
};

TEST_F(Text, SpellsACallAsAProgramDoes) {
  call(EntryPoint::kMemMap, {kBase, kPage, 0, 0x99});
  const Reading reading = read();
  EXPECT_EQ(call_text(reading, reading.calls[0]),
            "cuMemMap(ptr=0x700000000000, size=2M, offset=0, handle=0x99)");
  EXPECT_EQ(end_text(reading.calls[0]), "CUDA_SUCCESS");
}

TEST_F(Text, NamesWhatEndedBeforeTheFaultNewestFirst) {
  unmap(kBase);
  call(EntryPoint::kLaunchKernel, {0x11, 1, 1, 0});
  unmap(kBase + kPage);
  const auto sync = call(EntryPoint::kStreamSynchronize);
  writer_.begin_fault(700, sync);
  unmap(kBase + 2 * kPage);  // on another thread, after the launch
  const std::string text = explained();
  EXPECT_THAT(text, HasSubstr("mapping 0x700000000000 (2 MiB), ended by "
                              "cuMemUnmap(ptr=0x700000000000, size=2M), 3 calls, "));
  EXPECT_THAT(text, HasSubstr("; 1 kernel or copy was queued since\n      #0 f\n"));
  EXPECT_THAT(text, HasSubstr("; nothing was queued since"));
  EXPECT_THAT(text, Not(HasSubstr("0x700000400000")));
  EXPECT_LT(text.find("0x700000200000"), text.find("mapping 0x700000000000"));
  EXPECT_THAT(text, HasSubstr("queued last, the newest first:\n    cuLaunchKernel(f=0x11, "));
}

TEST_F(Text, SaysWhatLiesAtAnAddress) {
  unmap(kBase);
  writer_.note_live({ObjectKind::kReservation, -1, kBase, 4 * kPage});
  writer_.note_live({ObjectKind::kMapping, 1, kBase + kPage, kPage});
  const Reading reading = read();
  const auto ended = near_address(reading, kBase + 16);
  ASSERT_EQ(ended.size(), 2u);
  EXPECT_THAT(ended[0], HasSubstr("lies in reservation 0x700000000000 (8 MiB)"));
  EXPECT_THAT(ended[1], HasSubstr("lies in what was mapping 0x700000000000 (2 MiB): ended by"));
  const auto lives = near_address(reading, kBase + kPage + 5);
  ASSERT_EQ(lives.size(), 2u);
  EXPECT_THAT(lives[0], HasSubstr("mapping 0x700000200000 (2 MiB) of device 1, which lived then: "
                                  "at its byte 5"));
  EXPECT_THAT(near_address(reading, 0x1000),
              ElementsAre("0x1000 lies in nothing that cuvmm has seen"));
}

TEST_F(Text, AnAddressBehindLivingMemoryIsNearIt) {
  writer_.note_live({ObjectKind::kMemory, 0, kBase, 4096});
  EXPECT_THAT(near_address(read(), kBase + 4096 + 12),
              ElementsAre(HasSubstr("lies 12 B behind the end of memory 0x700000000000 (4 KiB)")));
}

TEST_F(Text, AGuardBelongsToTheReservationBesideIt) {
  writer_.note_live({ObjectKind::kReservation, -1, kBase, kPage, 7});
  writer_.note_live({ObjectKind::kGuardBefore, -1, kBase - kPage, kPage});
  writer_.note_live({ObjectKind::kGuardBehind, -1, kBase + kPage, kPage});
  EXPECT_THAT(near_address(read(), kBase + kPage + 4),
              ElementsAre(HasSubstr("lies 4 B past the end of reservation 0x700000000000 (2 MiB), "
                                    "which call 7 made: in the guard")));
  EXPECT_THAT(near_address(read(), kBase - 8),
              ElementsAre(HasSubstr("lies 8 B before the start of reservation 0x700000000000")));
}

TEST_F(Text, AFreedRangeMayBeKept) {
  writer_.note_live({ObjectKind::kQuarantined, -1, kBase, kPage});
  EXPECT_THAT(
      near_address(read(), kBase + 4),
      ElementsAre(HasSubstr("lies in the range of freed reservation 0x700000000000 (2 MiB), "
                            "at its byte 4")));
}

TEST_F(Text, OfNothingSaysSo) {
  EXPECT_THAT(explained(), HasSubstr("no memory and no addresses were given up before"));
}

TEST(TimeText, IsShort) {
  EXPECT_EQ(time_text(0), "0 ns");
  EXPECT_EQ(time_text(999), "999 ns");
  EXPECT_EQ(time_text(1500), "1.5 us");
  EXPECT_EQ(time_text(1'234'567), "1.23 ms");
  EXPECT_EQ(time_text(12'345'000'000'000), "12345 s");
}

}  // namespace
}  // namespace cuvmm::last_calls
