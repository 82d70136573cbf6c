// SPDX-License-Identifier: Apache-2.0
#include "recorder/last_calls/reading.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>

#include "recorder/last_calls/text.h"
#include "recorder/last_calls/writer.h"

namespace cuvmm::last_calls {
namespace {

std::unique_ptr<Image> some_image() {
  auto image = std::make_unique<Image>();
  Writer writer;
  ThreadPlace me;
  fill_rows(image->entries);
  writer.start(image.get());
  for (std::uint64_t i = 0; i < 20; ++i) {
    const auto call = writer.begin(me, EntryPoint::kMemUnmap, {i << 21, 2 << 20});
    writer.note_end(me, {ObjectKind::kMapping, 0, i << 21, 2 << 20, i, i + 1});
    writer.end(me, call, 0);
  }
  writer.note_live({ObjectKind::kReservation, -1, 1 << 21, 1 << 30});
  writer.begin_fault(700, 20);
  writer.note_address(5 << 21);
  writer.keep_maps();
  return image;
}

std::span<const std::byte> bytes_of(const Image& image, std::size_t size = sizeof(Image)) {
  return {reinterpret_cast<const std::byte*>(&image), size};
}

std::string error_of(std::span<const std::byte> bytes) {
  Reading reading;
  return read_image(bytes, reading);
}

TEST(Reading, SaysWhyAFileIsNone) {
  const auto image = some_image();
  EXPECT_EQ(error_of(bytes_of(*image)), "");
  EXPECT_EQ(error_of({}), "it is empty");
  EXPECT_NE(error_of(bytes_of(*image, 7)).find("cuvmmREC"), std::string::npos);
  EXPECT_NE(error_of(bytes_of(*image, 100)).find("cut off"), std::string::npos);
  EXPECT_NE(error_of(bytes_of(*image, sizeof(Image) - 1)).find("cut off"), std::string::npos);
  image->header.file.magic ^= 1;
  EXPECT_NE(error_of(bytes_of(*image)).find("cuvmmREC"), std::string::npos);
}

TEST(Reading, OfAFileThatIsNotThereSaysSo) {
  Reading reading;
  EXPECT_EQ(read_file("/nonexistent/x.ring", reading), std::strerror(ENOENT));
  EXPECT_NE(read_file("/", reading), "");
}

// The reader must read nothing outside of an image with random bytes, and must still return text.
TEST(Reading, TakesAnyBytes) {
  std::mt19937_64 random(20);
  const auto no_symbols = [](const std::vector<std::uint64_t>& frames) {
    return std::vector<std::string>(frames.size(), "frame");
  };
  for (int round = 0; round < 60; ++round) {
    const auto image = some_image();
    const Header good = image->header;
    auto* const words = reinterpret_cast<std::uint64_t*>(image.get());
    const std::size_t count = sizeof(Image) / sizeof *words;
    if (round % 2 == 0) {
      for (std::size_t i = 0; i < count; ++i) words[i] = random();
      // The words that identify the file must be right.
      std::memcpy(image.get(), &good, 5 * sizeof *words);
    } else {
      // The first page, the tables and the first records are the likeliest places for errors.
      for (int i = 0; i < 2000; ++i) words[5 + random() % 12000] = random();
    }
    Reading reading;
    ASSERT_EQ(read_image(bytes_of(*image), reading), "");
    EXPECT_LE(reading.calls.size(), kCalls);
    EXPECT_LE(reading.live.size(), kLive);
    const std::string text = explanation_text(reading, no_symbols, "");
    EXPECT_FALSE(text.empty());
    for (const CallSeen& call : reading.calls) (void)call_text(reading, call);
    for (const char c : text) ASSERT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f)) << int{c};
  }
}

TEST(Reading, TimesRunBackwardsFromTheLastMoment) {
  auto image = std::make_unique<Image>();
  Header& header = image->header;
  Writer writer;
  ThreadPlace me;
  writer.start(image.get());
  writer.begin(me, EntryPoint::kMemUnmap, {});
  // 3 ticks are 1 ns.
  header.file.first = {3000, 500, 0};
  header.file.last = {33000, 10500, 0};
  CallRecord& call = image->calls[0];
  call.ticks = 30000;
  call.who &= ~kCheckMask;
  call.who |= check_of(call, call.who);
  image->threads[0].call = 0;
  Reading reading;
  ASSERT_EQ(read_image(bytes_of(*image), reading), "");
  ASSERT_EQ(reading.calls.size(), 1u);
  EXPECT_EQ(reading.calls[0].ns, 1000u);
  EXPECT_EQ(reading.lasted_ns, 10000u);
}

TEST(Reading, KnowsTheErrorsOfTheDevice) {
  for (const std::uint32_t code : {700, 702, 716, 717, 719}) EXPECT_TRUE(is_fault(code)) << code;
  for (const std::uint32_t code : {0, 1, 2, 201, 600, 999}) EXPECT_FALSE(is_fault(code)) << code;
}

}  // namespace
}  // namespace cuvmm::last_calls
