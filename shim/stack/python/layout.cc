// SPDX-License-Identifier: Apache-2.0
#include "shim/stack/python/layout.h"

#include <cstddef>
#include <cstring>

namespace cuvmm::shim {

namespace {

// 3.9 to 3.12: equal in all releases of a version. Taken from its headers with offsetof.
constexpr PythonLayout k39 = {
    .thread = {.thread_id = 176, .frame = 24},
    .frame = {.code = 32, .previous = 24, .instruction = 104},
    .code = {.filename = 104, .name = 112, .first_line = 40, .lines = 120},
    .ascii_size = 48,
    .instruction_unit = 1,
    .lines = PythonLines::kIncrements,
};
constexpr PythonLayout k310 = {
    .thread = {.thread_id = 176, .frame = 24},
    .frame = {.code = 32, .previous = 24, .instruction = 96},
    .code = {.filename = 104, .name = 112, .first_line = 40, .lines = 120},
    .ascii_size = 48,
    .instruction_unit = 2,
    .lines = PythonLines::kRanges,
};
constexpr PythonLayout k311 = {
    .thread = {.thread_id = 152, .frame = 56, .cframe_frame = 8},
    .frame = {.code = 32, .previous = 48, .instruction = 56, .owner = 69, .is_entry = 68},
    .code = {.filename = 112, .name = 128, .first_line = 72, .lines = 136, .bytecode = 184},
    .ascii_size = 48,
};
constexpr PythonLayout k312 = {
    .thread = {.thread_id = 136, .frame = 56, .cframe_frame = 0},
    .frame = {.code = 0, .previous = 8, .instruction = 56, .owner = 70},
    .code = {.filename = 112,
             .name = 128,
             .first_line = 68,
             .lines = 136,
             .bytecode = 192,
             .version = 92,
             .version_of_process = true},
    .ascii_size = 40,
};

// The word at which each section of the table begins. The first words of a section have one order
// in all versions; some versions have more words after them.
struct Sections {
  std::size_t thread, frame, code, object, bytes, string;
};
constexpr Sections k313 = {19, 28, 34, 44, 64, 67};
constexpr Sections k314 = {22, 31, 39, 50, 74, 77};

bool fits(std::uint64_t offset) { return offset < PythonLayout::kNowhere; }

std::optional<PythonLayout> from_table(std::uint32_t version, const Sections& at,
                                       std::span<const std::uint64_t> words) {
  constexpr char kCookie[] = "xdebugpy";
  if (words.size() < kDebugOffsetWords) return std::nullopt;
  if (std::memcmp(words.data(), kCookie, sizeof words[0]) != 0) return std::nullopt;
  const bool free_threaded = words[2] != 0;
  if (words[1] != version || free_threaded) return std::nullopt;
  // The offsets of objects, bytes and strings have not changed for many versions. If these offsets
  // are where they are expected, no section before them has grown.
  const bool in_place =
      words[at.object] == 16 && words[at.object + 1] == PythonLayout::kObjectType &&
      words[at.bytes + 1] == PythonLayout::kObjectSize &&
      words[at.bytes + 2] == PythonLayout::kBytesData &&
      words[at.string + 1] == PythonLayout::kStringState &&
      words[at.string + 2] == PythonLayout::kStringLength && words[at.string + 3] == 40;
  if (!in_place) return std::nullopt;
  for (std::size_t i = at.thread; i < at.object; ++i) {
    if (!fits(words[i])) return std::nullopt;
  }
  const auto word = [&](std::size_t i) { return static_cast<std::uint16_t>(words[i]); };
  // The table has no word for co_version, but has its neighbours: the member lies between them as
  // in 3.12.
  const std::size_t line = words[at.code + 5], locals = words[at.code + 7];
  const std::uint16_t code_version =
      locals == line + 28 ? static_cast<std::uint16_t>(line + 24) : PythonLayout::kNowhere;
  return PythonLayout{
      .thread = {.thread_id = word(at.thread + 5), .frame = word(at.thread + 4)},
      .frame = {.code = word(at.frame + 2),
                .previous = word(at.frame + 1),
                .instruction = word(at.frame + 3),
                .owner = word(at.frame + 5)},
      .code = {.filename = word(at.code + 1),
               .name = word(at.code + 3),
               .first_line = word(at.code + 5),
               .lines = word(at.code + 4),
               .bytecode = word(at.code + 9),
               .version = code_version},
      .ascii_size = word(at.string + 3),
  };
}

}  // namespace

std::optional<PythonLayout> python_layout(std::uint32_t version,
                                          std::span<const std::uint64_t> debug_offsets) {
  // Before its release, a version's structures change from day to day.
  constexpr std::uint32_t kCandidate = 0xc;
  if ((version >> 4 & 0xf) < kCandidate) return std::nullopt;
  switch (version >> 16) {
    case 0x0309:
      return k39;
    case 0x030a:
      return k310;
    case 0x030b:
      return k311;
    case 0x030c:
      return k312;
    case 0x030d:
      return from_table(version, k313, debug_offsets);
    case 0x030e:
      return from_table(version, k314, debug_offsets);
    default:
      return std::nullopt;
  }
}

}  // namespace cuvmm::shim
