// SPDX-License-Identifier: Apache-2.0
// Numbers with their nouns, as text for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cuvmm {

/// "1 piece of pool memory", "3 pieces of pool memory", "2 libraries": the noun stands before " of
/// ", or at the end.
inline std::string counted(std::uint64_t count, std::string_view what) {
  std::string text = std::to_string(count) + " " + std::string(what);
  if (count == 1) return text;
  const std::size_t of = text.find(" of ");
  const std::size_t end = of == std::string::npos ? text.size() : of;
  const bool by_ies = text[end - 1] == 'y' &&
                      std::string_view("aeou").find(text[end - 2]) == std::string_view::npos;
  if (by_ies) return text.replace(end - 1, 1, "ies");
  return text.insert(end, 1, 's');
}

/// " by call 7 (cuMemCreate)", " by call 7", " by cuStreamCreate"; "" if neither is known.
inline std::string by_text(std::uint64_t call, const std::string& function) {
  if (call == 0) return function.empty() ? function : " by " + function;
  return " by call " + std::to_string(call) + (function.empty() ? "" : " (" + function + ")");
}

}  // namespace cuvmm
