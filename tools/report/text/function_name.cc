// SPDX-License-Identifier: Apache-2.0
#include "tools/report/text/function_name.h"

#include <cctype>

namespace cuvmm::tools {

namespace {

constexpr std::size_t kLongest = 120;
constexpr std::size_t kShort = 24;  // characters; shorter brackets stay: "(anonymous namespace)"

// Whether the sign is no bracket, as in "operator<<", "operator->" and a trailing "->".
bool is_operator_sign(std::string_view name, std::size_t at) {
  if (name[at] == '>' && at > 0 && name[at - 1] == '-') return true;
  std::size_t word = at;
  while (word > 0 && (name[word - 1] == '<' || name[word - 1] == '>' || name[word - 1] == '='))
    --word;
  constexpr std::string_view kOperator = "operator";
  if (at - word > 2 || !name.substr(0, word).ends_with(kOperator)) return false;
  const std::size_t before = word - kOperator.size();
  return before == 0 || (std::isalnum(static_cast<unsigned char>(name[before - 1])) == 0 &&
                         name[before - 1] != '_');
}

// The position at which the bracket that opens at `at` closes; npos: nowhere.
std::size_t closing(std::string_view name, std::size_t at) {
  std::string open;  // brackets that are not closed yet
  for (std::size_t i = at; i < name.size(); ++i) {
    const char c = name[i];
    if ((c == '<' || c == '>') && is_operator_sign(name, i)) continue;
    if (c == '<' || c == '(') open += c;
    if (c == ')') {
      // A '<' without its '>' was a comparison, as in an argument "a < b".
      while (!open.empty() && open.back() == '<') open.pop_back();
      if (open.empty()) return std::string_view::npos;
      open.pop_back();
    }
    if (c == '>' && !open.empty() && open.back() == '<') open.pop_back();
    if (open.empty()) return i;
  }
  return std::string_view::npos;
}

std::string folded(std::string_view name, char bracket) {
  std::string text;
  for (std::size_t at = 0; at < name.size(); ++at) {
    if (name[at] == bracket && !is_operator_sign(name, at)) {
      const std::size_t end = closing(name, at);
      if (end != std::string_view::npos && end - at > kShort) {
        text += bracket;
        text += "...";
        at = end;
      }
    }
    text += name[at];
  }
  return text;
}

}  // namespace

std::string brief_function(std::string_view name) {
  if (name.size() <= kLongest) return std::string(name);
  std::string text = folded(name, '<');
  return text.size() <= kLongest ? text : folded(text, '(');
}

}  // namespace cuvmm::tools
