// SPDX-License-Identifier: Apache-2.0
#include "tools/rules/rule_examples.h"

#include <algorithm>
#include <sstream>

namespace cuvmm::tools {

namespace {

struct Candidate {
  std::string breaks;
  bool needs = false;
  std::string program;
};

// Whether `line` starts with `word`. `rest` gets the text behind it.
bool starts_with_word(const std::string& line, const std::string& word, std::string& rest) {
  if (line.rfind(word + " ", 0) != 0) return false;
  rest = line.substr(word.size() + 1);
  return true;
}

bool shorter(const std::string& a, const std::string& b) {
  const auto lines = [](const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
  };
  return lines(a) != lines(b) ? lines(a) < lines(b) : a.size() < b.size();
}

}  // namespace

std::string shortest_case(std::span<const char* const> texts, std::string_view rule) {
  std::string best;
  const std::string token = "!" + std::string(rule);
  for (const char* text : texts) {
    Candidate current;
    const auto consider = [&] {
      const bool fits = current.breaks == rule && !current.needs &&
                        current.program.find(token + "\n") != std::string::npos;
      if (fits && (best.empty() || shorter(current.program, best))) best = current.program;
      current = {};
    };
    std::istringstream lines{std::string(text)};
    std::string line, rest;
    bool inside = false;
    while (std::getline(lines, line)) {
      if (starts_with_word(line, "case", rest)) {
        consider();
        inside = true;
      } else if (!inside || line.empty() || line[0] == '#') {
        continue;
      } else if (starts_with_word(line, "breaks", rest)) {
        current.breaks += (current.breaks.empty() ? "" : " ") + rest;
      } else if (starts_with_word(line, "needs", rest)) {
        current.needs = true;
      } else {
        current.program += line + "\n";
      }
    }
    consider();
  }
  return best;
}

}  // namespace cuvmm::tools
