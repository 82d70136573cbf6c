// SPDX-License-Identifier: Apache-2.0
// One sentence of what a process has not given back, for the shim and for `cuvmm run`.
#pragma once

#include <string>

namespace cuvmm::live {

inline constexpr const char* kInUse = "still in use";
inline constexpr const char* kEndedWithContext = "freed only by the end of its context";

/// `in_use`, `ended`: "3 pieces of cuMemAlloc (48 MiB), 2 streams"; "" nothing. `listed`: each was
/// told. "" where there is nothing to say.
inline std::string in_use_sentence(const std::string& in_use, const std::string& ended,
                                   bool listed) {
  std::string text;
  if (!in_use.empty()) text = std::string(kInUse) + " at the end: " + in_use;
  if (!ended.empty()) {
    if (!text.empty()) text += "; ";
    text += std::string(kEndedWithContext) + ": " + ended;
  }
  if (!text.empty() && !listed) text += "; --leak-check=full lists them";
  return text;
}

}  // namespace cuvmm::live
