// SPDX-License-Identifier: Apache-2.0
// PTX: text, of which statements outside of bodies are read.
#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "emulator/code/device_code.h"

namespace cuvmm::emulator {

namespace {

// The text without comments.
std::string bare(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i);
    if (rest.starts_with("//")) {
      i += std::min(rest.find('\n'), rest.size()) - 1;
    } else if (rest.starts_with("/*")) {
      const std::size_t end = rest.find("*/");
      i += end == rest.npos ? rest.size() : end + 1;
    } else {
      out += text[i];
    }
  }
  return out;
}

bool in_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '.' ||
         c == '%';
}

// Words, and single characters for all else that is no space.
std::vector<std::string_view> tokens(std::string_view statement) {
  std::vector<std::string_view> all;
  for (std::size_t i = 0; i < statement.size();) {
    std::size_t end = i;
    while (end < statement.size() && in_word(statement[end])) ++end;
    if (end == i) end = i + 1;
    if (!std::isspace(static_cast<unsigned char>(statement[i]))) {
      all.push_back(statement.substr(i, end - i));
    }
    i = end;
  }
  return all;
}

// ".u32" -> 4; 0 for what is no type.
std::size_t type_size(std::string_view word) {
  if (word == ".pred") return 1;
  if (word.size() < 3 || std::string_view("bsuf").find(word[1]) == std::string_view::npos) return 0;
  const int bits = std::atoi(std::string(word.substr(2)).c_str());
  return bits >= 8 && bits <= 128 ? static_cast<std::size_t>(bits) / 8 : 0;
}

// A statement outside of bodies: up to `;` or the body's beginning.
void read_statement(const std::vector<std::string_view>& words, DeviceCode& code) {
  bool variable = false, constant = false;
  std::size_t size = 0, lanes = 1;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == ".entry" && i + 1 < words.size()) {
      code.kernels.push_back({.name = std::string(words[i + 1])});
      return;
    }
    if (word == ".func" || word == ".extern") return;
    if (word == ".align" || word == ".attribute") {
      ++i;  // its value; of an attribute, "("
    } else if (word == ".global" || word == ".const") {
      variable = true;
      constant = word == ".const";
    } else if (word == ".v2" || word == ".v4") {
      lanes = static_cast<std::size_t>(word[2] - '0');
    } else if (word[0] == '.') {
      if (const std::size_t known = type_size(word)) size = known;
    } else if (variable && size != 0 && in_word(word[0])) {
      std::size_t bytes = size * lanes;
      for (std::size_t k = i + 1; k + 2 < words.size() && words[k] == "["; k += 3) {
        bytes *= std::strtoull(std::string(words[k + 1]).c_str(), nullptr, 0);
      }
      code.variables.push_back({std::string(word), bytes, {}, constant});
      return;
    }
  }
}

}  // namespace

CUresult read_ptx(std::string_view text, DeviceCode& code) {
  const std::string source = bare(text);
  if (source.find(".version") == source.npos || source.find(".target") == source.npos) {
    return CUDA_ERROR_INVALID_IMAGE;
  }
  std::size_t begin = 0, depth = 0;
  const auto statement = [&](std::size_t end) {
    read_statement(tokens(std::string_view(source).substr(begin, end - begin)), code);
  };
  for (std::size_t i = 0; i < source.size(); ++i) {
    const char c = source[i];
    if (c == '{' && depth++ == 0) statement(i);
    if (c == '}' && depth != 0) --depth;
    if (depth != 0 || (c != ';' && c != '}' && c != '\n')) continue;
    // Directives end with their line; a kernel's head goes over several.
    if (c == '\n') {
      const std::string_view line = std::string_view(source).substr(begin, i - begin);
      const std::size_t first = line.find_first_not_of(" \t\r\n");
      if (first != line.npos && !line.substr(first).starts_with(".version") &&
          !line.substr(first).starts_with(".target") &&
          !line.substr(first).starts_with(".address_size")) {
        continue;
      }
    } else if (c == ';') {
      statement(i);
    }
    begin = i + 1;
  }
  return CUDA_SUCCESS;
}

}  // namespace cuvmm::emulator
