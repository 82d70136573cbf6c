// SPDX-License-Identifier: Apache-2.0
#include "fuzz/objects/op.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace cuvmm::fuzz::objects {

namespace {

constexpr Info kInfo[kCodes] = {
#define CUVMM_OBJECT_OP(code, area, text, ...) {Area::k##area, text, {__VA_ARGS__}},
#include "fuzz/objects/ops.def"
};

std::size_t field_of(const Info& info, std::string_view name) {
  for (std::size_t i = 0; i < kMostFields && info.fields[i]; ++i) {
    if (name == info.fields[i]) return i;
  }
  return kMostFields;
}

// Reads "m=3" into the op; false where the code has no such field, or the number is too great.
bool read_field(const std::string& word, Op& op) {
  const std::size_t equal = word.find('=');
  if (equal == std::string::npos) return false;
  const std::string name = word.substr(0, equal);
  const std::size_t field = field_of(info(op.code), name);
  char* end = nullptr;
  const unsigned long number = std::strtoul(word.c_str() + equal + 1, &end, 10);
  if (field == kMostFields || *end || equal + 1 == word.size() || number > kMostNumber)
    return false;
  if (is_name(name) && number >= kNames) return false;
  op.values[field] = static_cast<unsigned>(number);
  return true;
}

}  // namespace

const Info& info(Code code) { return kInfo[static_cast<std::size_t>(code)]; }

unsigned Op::operator[](std::string_view field) const {
  const std::size_t at = field_of(info(code), field);
  if (at == kMostFields) std::abort();
  return values[at];
}

bool is_name(std::string_view field) {
  constexpr std::string_view kAll[] = {"a", "b", "g", "child", "e", "m", "n", "u", "l", "f"};
  return std::find(std::begin(kAll), std::end(kAll), field) != std::end(kAll);
}

std::string text_of(const Op& op) {
  const Info& form = info(op.code);
  std::string out = form.text;
  for (std::size_t i = 0; i < kMostFields && form.fields[i]; ++i) {
    out += " " + std::string(form.fields[i]) + "=" + std::to_string(op.values[i]);
  }
  return out;
}

std::optional<Ops> parse(const std::string& text) {
  Ops ops;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string word;
    if (!(words >> word)) continue;
    const Info* const found = std::find_if(std::begin(kInfo), std::end(kInfo),
                                           [&](const Info& each) { return word == each.text; });
    if (found == std::end(kInfo)) return std::nullopt;
    Op op{static_cast<Code>(found - kInfo)};
    while (words >> word) {
      if (!read_field(word, op)) return std::nullopt;
    }
    ops.push_back(op);
  }
  return ops;
}

}  // namespace cuvmm::fuzz::objects
