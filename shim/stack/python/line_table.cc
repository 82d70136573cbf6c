// SPDX-License-Identifier: Apache-2.0
#include "shim/stack/python/line_table.h"

namespace cuvmm::shim {

namespace {

/// The table's bytes, from first to last.
class Bytes {
 public:
  Bytes(GuardedMemory& memory, std::uintptr_t table, std::size_t size)
      : memory_(memory), at_(table), end_(table + size) {}
  bool more() const { return at_ < end_; }
  /// False at the end, and if the byte cannot be read.
  bool next(std::uint8_t& byte) { return more() && memory_.read(at_, byte) && ++at_ != 0; }

 private:
  GuardedMemory& memory_;
  std::uintptr_t at_, end_;
};

int signed_byte(std::uint8_t byte) { return static_cast<std::int8_t>(byte); }

// Pairs: advance by so many bytes of code, and by so many lines.
int line_by_increments(Bytes table, int line, int instruction) {
  int start = 0;
  std::uint8_t code = 0, lines = 0;
  while (table.next(code) && table.next(lines)) {
    start += code;
    if (start > instruction) break;
    line += signed_byte(lines);
  }
  return line;
}

// Pairs: the next so many bytes of code lie so many lines further; -128: they have no line.
int line_by_ranges(Bytes table, int line, int instruction) {
  constexpr int kNone = -128;
  int end = 0;
  std::uint8_t code = 0, lines = 0;
  while (table.next(code) && table.next(lines)) {
    const int step = signed_byte(lines);
    end += code;
    if (step != kNone) line += step;
    if (end > instruction) return step == kNone ? 0 : line;
  }
  return 0;
}

// Six bits in each byte, the lowest first; bit 6: more bytes follow. The lowest bit of the number
// is its sign.
bool signed_number(Bytes& table, int& number) {
  constexpr unsigned kBits = 6, kMore = 1u << kBits, kMask = kMore - 1;
  std::uint32_t value = 0;
  std::uint8_t byte = kMore;
  for (unsigned shift = 0; (byte & kMore) != 0; shift += kBits) {
    if (shift > 30 || !table.next(byte)) return false;
    value |= (byte & kMask) << shift;
  }
  const int size = static_cast<int>(value >> 1);
  number = (value & 1) != 0 ? -size : size;
  return true;
}

// Entries of a head byte (bit 7 set, its form, and its number of code units) and the form's data,
// of which only lines are read here.
int line_by_locations(Bytes table, int line, int instruction) {
  constexpr int kUnit = 2;
  constexpr unsigned kHead = 0x80, kNone = 15, kLong = 14, kNoColumns = 13, kOneLine = 10;
  int end = 0;
  std::uint8_t byte = 0;
  bool have = table.next(byte);
  while (have && (byte & kHead) != 0) {
    const unsigned form = byte >> 3 & 15;
    end += ((byte & 7) + 1) * kUnit;
    int step = 0;
    if (form == kLong || form == kNoColumns) {
      if (!signed_number(table, step)) return 0;
    } else if (form >= kOneLine && form < kNoColumns) {
      step = static_cast<int>(form - kOneLine);
    }
    line += step;
    if (end > instruction) return form == kNone ? 0 : line;
    do {
      have = table.next(byte);
    } while (have && (byte & kHead) == 0);
  }
  return 0;
}

}  // namespace

int python_line(PythonLines kind, GuardedMemory& memory, std::uintptr_t table, std::size_t size,
                int first_line, int instruction) noexcept {
  const Bytes bytes(memory, table, size);
  switch (kind) {
    case PythonLines::kIncrements:
      return line_by_increments(bytes, first_line, instruction);
    case PythonLines::kRanges:
      return line_by_ranges(bytes, first_line, instruction);
    case PythonLines::kLocations:
      return line_by_locations(bytes, first_line, instruction);
  }
  return 0;
}

}  // namespace cuvmm::shim
