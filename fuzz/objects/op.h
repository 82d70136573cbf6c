// SPDX-License-Identifier: Apache-2.0
// One call of a program about objects: a code and some small numbers. Its text is one line:
// "cuMemcpyAtoA a=1 x=0 b=2 sx=4 w=8".
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cuvmm::fuzz::objects {

enum class Code : std::uint8_t {
#define CUVMM_OBJECT_OP(code, ...) k##code,
#include "fuzz/objects/ops.def"
  kCount
};
inline constexpr std::size_t kCodes = static_cast<std::size_t>(Code::kCount);

/// Calls that a program has together.
enum class Area : std::uint8_t { kArrays, kMemory, kGraphs, kCode, kCount };

inline constexpr std::size_t kMostFields = 11;
inline constexpr unsigned kNames = 16;         ///< of each kind of object; a name is less than this
inline constexpr unsigned kMostNumber = 4096;  ///< no field is greater

struct Info {
  Area area;
  const char* text;
  std::array<const char*, kMostFields> fields;  ///< null behind the last one
};
const Info& info(Code code);

struct Op {
  Code code = Code::kFill;
  std::array<unsigned, kMostFields> values{};

  /// The value of a field that the code has.
  unsigned operator[](std::string_view field) const;
  friend bool operator==(const Op&, const Op&) = default;
};
using Ops = std::vector<Op>;

/// Whether the field is a name of an object.
bool is_name(std::string_view field);

std::string text_of(const Op& op);
/// The program that a text has, or nothing where a line is wrong; "#" begins a comment.
std::optional<Ops> parse(const std::string& text);

}  // namespace cuvmm::fuzz::objects
