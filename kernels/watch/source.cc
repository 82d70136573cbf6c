// SPDX-License-Identifier: Apache-2.0
#include "kernels/watch/source.h"

#include <algorithm>
#include <map>

namespace cuvmm::kernels {

namespace {

std::string_view word_after(std::string_view& rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  const std::string_view word = rest.substr(0, rest.find_first_of(" \t,;"));
  rest.remove_prefix(word.size());
  return word;
}

int number_of(std::string_view word) {
  int value = 0;
  for (const char c : word) {
    if (c < '0' || c > '9' || value > 100'000'000) return 0;
    value = value * 10 + (c - '0');
  }
  return value;
}

}  // namespace

SourceLine source_of(std::string_view text, int ptx_line) {
  std::map<int, std::string_view> files;
  int file = 0, line = 0;
  int outer_file = 0, outer_line = 0;  // the call, if the line is of a function that was inlined
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view rest = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string_view word = word_after(rest);
    if (word == ".loc" && number <= ptx_line) {
      file = number_of(word_after(rest));
      line = number_of(word_after(rest));
      constexpr std::string_view kInlined = "inlined_at";
      outer_file = outer_line = 0;
      if (const std::size_t at = rest.find(kInlined); at != std::string_view::npos) {
        rest.remove_prefix(at + kInlined.size());
        outer_file = number_of(word_after(rest));
        outer_line = number_of(word_after(rest));
      }
    } else if ((word == ".func" || word == ".entry" || word == ".visible" || word == ".weak") &&
               number <= ptx_line) {
      file = line = outer_file = outer_line = 0;  // of a function before
    } else if (word == ".file") {
      const int which = number_of(word_after(rest));
      const std::size_t open = rest.find('"'), close = rest.rfind('"');
      if (open < close) files[which] = rest.substr(open + 1, close - open - 1);
    }
  }
  auto found = files.find(file);
  if (line == 0 || found == files.end()) return {};
  // The functions of CUDA's own headers are nobody's to correct.
  const auto outer = files.find(outer_file);
  if (outer_line != 0 && outer != files.end() &&
      found->second.find("/include/") != std::string_view::npos) {
    return {std::string(outer->second), outer_line};
  }
  return {std::string(found->second), line};
}

}  // namespace cuvmm::kernels
