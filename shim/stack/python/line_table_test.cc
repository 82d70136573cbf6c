// SPDX-License-Identifier: Apache-2.0
#include "shim/stack/python/line_table.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string_view>

namespace cuvmm::shim {
namespace {

using std::string_view_literals::operator""sv;

int line(PythonLines kind, std::string_view table, int first_line, int instruction) {
  GuardedMemory memory{};
  return python_line(kind, memory, reinterpret_cast<std::uintptr_t>(table.data()), table.size(),
                     first_line, instruction);
}

// CPython 3.9 compiled "def f(a):\n g(a,\n a)\n return a\n": f's table is 0,1 2,0...
TEST(PythonLine, Of39CountsUp) {
  constexpr auto kTable = "\x00\x01\x06\x01\x08\xff\x04\x03"sv;
  EXPECT_EQ(line(PythonLines::kIncrements, kTable, 10, 0), 11);
  EXPECT_EQ(line(PythonLines::kIncrements, kTable, 10, 5), 11);
  EXPECT_EQ(line(PythonLines::kIncrements, kTable, 10, 6), 12);
  EXPECT_EQ(line(PythonLines::kIncrements, kTable, 10, 14), 11);  // back by one
  EXPECT_EQ(line(PythonLines::kIncrements, kTable, 10, 18), 14);
  EXPECT_EQ(line(PythonLines::kIncrements, kTable, 10, 1000), 14);
  EXPECT_EQ(line(PythonLines::kIncrements, "", 10, 0), 10);
}

TEST(PythonLine, Of310IsARange) {
  constexpr auto kTable = "\x04\x01\x06\x80\x08\x02\x04\xff"sv;
  EXPECT_EQ(line(PythonLines::kRanges, kTable, 10, 0), 11);
  EXPECT_EQ(line(PythonLines::kRanges, kTable, 10, 3), 11);
  EXPECT_EQ(line(PythonLines::kRanges, kTable, 10, 4), 0);  // has no line
  EXPECT_EQ(line(PythonLines::kRanges, kTable, 10, 10), 13);
  EXPECT_EQ(line(PythonLines::kRanges, kTable, 10, 18), 12);
  EXPECT_EQ(line(PythonLines::kRanges, kTable, 10, 22), 0);  // after the end
}

TEST(PythonLine, Of311HasFiveForms) {
  constexpr auto kTable =
      "\x80\x11"                  // form 0, one unit, same line
      "\xd9\x05\x06"              // form 11 (1 line on), two units
      "\xe9\x03"                  // form 13, two units, signed 3: one line back
      "\xf0\x50\x01\x00\x05\x09"  // form 14, one unit, signed 0x50: 16 more bits, 8 + 32 * 1
      "\xf9"                      // form 15, two units, no line
      "\xd0\x01\x02"sv;           // form 10, one unit, same line
  const auto at = [&](int unit) { return line(PythonLines::kLocations, kTable, 100, 2 * unit); };
  EXPECT_EQ(at(0), 100);
  EXPECT_EQ(at(1), 101);
  EXPECT_EQ(at(2), 101);
  EXPECT_EQ(at(3), 100);
  EXPECT_EQ(at(4), 100);
  EXPECT_EQ(at(5), 140);  // 0x50 has bit 6: 0x10 | 1 << 6 = 80, an even number: 40 on
  EXPECT_EQ(at(6), 0);
  EXPECT_EQ(at(7), 0);
  EXPECT_EQ(at(8), 140);
  EXPECT_EQ(at(9), 0);
}

TEST(PythonLine, ATableThatIsNoneHasNoLine) {
  EXPECT_EQ(line(PythonLines::kLocations, "\x11\x80", 100, 0), 0);
  // A number that does not end.
  EXPECT_EQ(line(PythonLines::kLocations, "\xe8\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f", 100, 0), 0);
  EXPECT_EQ(line(PythonLines::kLocations, "\xe8", 100, 0), 0);
}

TEST(GuardedMemory, WhatIsNotThereIsNoFault) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const block =
      ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(block, MAP_FAILED);
  ASSERT_EQ(::mprotect(static_cast<char*>(block) + page, page, PROT_NONE), 0);
  const auto start = reinterpret_cast<std::uintptr_t>(block);
  GuardedMemory memory{};
  errno = ENOENT;
  std::uint64_t value = 7;
  EXPECT_TRUE(memory.read(start + page - 8, value));
  EXPECT_EQ(value, 0u);
  value = 7;
  EXPECT_FALSE(memory.read(start + page - 7, value));
  EXPECT_FALSE(memory.read(start + page, value));
  EXPECT_FALSE(memory.read(0, value));
  EXPECT_FALSE(memory.read(8, value));
  EXPECT_FALSE(memory.read(~std::uintptr_t{0} - 3, value));
  EXPECT_FALSE(memory.read(std::uintptr_t{1} << 63, value));
  EXPECT_EQ(value, 7u);
  EXPECT_EQ(errno, ENOENT);
  ::munmap(block, 2 * page);
  EXPECT_FALSE(GuardedMemory().readable(start, 1));
}

// A walk reads frames, code objects and strings alternately. If two of their pages evicted each
// other, the walk would ask the kernel for each function of a stack.
TEST(GuardedMemory, AnyFourPagesAreKnownTogether) {
  constexpr std::size_t kPages = 4, kMostApart = 256;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t size = kPages * kMostApart * page;
  void* const block = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(block, MAP_FAILED);
  const auto start = reinterpret_cast<std::uintptr_t>(block);
  for (std::size_t apart = 1; apart <= kMostApart; apart *= 2) {
    GuardedMemory memory{};
    const auto all_readable = [&] {
      for (std::size_t i = 0; i < kPages; ++i) {
        if (!memory.readable(start + i * apart * page, 8)) return false;
      }
      return true;
    };
    ASSERT_EQ(::mprotect(block, size, PROT_READ), 0);
    EXPECT_TRUE(all_readable());
    // From here on the kernel would answer that the pages cannot be read.
    ASSERT_EQ(::mprotect(block, size, PROT_NONE), 0);
    EXPECT_TRUE(all_readable()) << apart;
  }
  ::munmap(block, size);
}

}  // namespace
}  // namespace cuvmm::shim
