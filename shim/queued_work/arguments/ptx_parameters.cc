// SPDX-License-Identifier: Apache-2.0
#include "shim/queued_work/arguments/ptx_parameters.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

namespace cuvmm::shim {

namespace {

using std::string_view;

constexpr std::uint32_t kScalar = 8;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$' || c == '%' || c == '.';
}

/// Splits a text into words and single marks, without comments. "" is the end.
class Tokens {
 public:
  explicit Tokens(string_view text) : rest_(text) {}

  string_view next() {
    skip_blank();
    std::size_t size = rest_.empty() ? 0 : 1;
    if (size != 0 && is_name(rest_[0])) {
      while (size < rest_.size() && is_name(rest_[size])) ++size;
    }
    return take(size);
  }

 private:
  string_view take(std::size_t size) {
    const string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  void skip_to(string_view end) {
    const std::size_t at = rest_.find(end);
    take(at == string_view::npos ? rest_.size() : at + end.size());
  }
  void skip_blank() {
    for (;;) {
      while (!rest_.empty() && is_space(rest_[0])) rest_.remove_prefix(1);
      if (rest_.starts_with("//")) {
        skip_to("\n");
      } else if (rest_.starts_with("/*")) {
        skip_to("*/");
      } else if (rest_.starts_with('"')) {  // a name of a file, in which nothing is a comment
        rest_.remove_prefix(1);
        skip_to("\"");
      } else {
        return;
      }
    }
  }

  string_view rest_;
};

std::uint32_t number_of(string_view text) {
  std::uint32_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// ".u64" has 8 bytes; 0 for a token that is no type of a parameter.
std::uint32_t size_of_type(string_view token) {
  if (token.size() < 3 || token[0] != '.' || !std::strchr("usbf", token[1])) return 0;
  const bool digits =
      std::all_of(token.begin() + 2, token.end(), [](char c) { return c >= '0' && c <= '9'; });
  return digits ? number_of(token.substr(2)) / 8 : 0;
}

/// Reads one parameter; `end`: the mark after it. nullopt if the text ends too early.
std::optional<ParameterType> parameter(Tokens& tokens, string_view first, string_view& end) {
  std::uint32_t element = 0, elements = 1;
  bool pointer = false, array = false, real = false;
  for (string_view token = first; !token.empty(); token = tokens.next()) {
    if (token == "," || token == ")") {
      end = token;
      const bool word = !array && !real && element == kScalar;
      const Evidence evidence = !word     ? Evidence::kWord
                                : pointer ? Evidence::kByType
                                          : Evidence::kByValue;
      return ParameterType{evidence, element * elements};
    }
    if (token == ".ptr") pointer = true;
    if (element == 0) {
      element = size_of_type(token);
      real = element != 0 && token[1] == 'f';
    }
    if (token == "[") {
      array = true;
      elements = number_of(tokens.next());
    }
  }
  return {};
}

std::optional<std::vector<ParameterType>> parameters(Tokens& tokens) {
  std::vector<ParameterType> types;
  string_view end = ",";
  while (end == ",") {
    const string_view first = tokens.next();
    if (first == ")") return types;
    const auto type = parameter(tokens, first, end);
    if (!type) return {};
    types.push_back(*type);
  }
  return types;
}

// A compiler that writes .ptr writes it for each pointer.
void tell_numbers(std::vector<ParameterType>& types) {
  const bool tells = std::any_of(types.begin(), types.end(), [](const ParameterType& type) {
    return type.evidence == Evidence::kByType;
  });
  if (!tells) return;
  for (ParameterType& type : types) {
    if (type.evidence == Evidence::kByValue) type.evidence = Evidence::kWord;
  }
}

}  // namespace

std::vector<PtxKernel> kernels_of_ptx(string_view text) {
  std::vector<PtxKernel> kernels;
  Tokens tokens(text);
  for (string_view token = tokens.next(); !token.empty(); token = tokens.next()) {
    if (token != ".entry") continue;
    const string_view name = tokens.next();
    if (tokens.next() != "(") continue;
    auto types = parameters(tokens);
    if (!types) break;
    tell_numbers(*types);
    kernels.emplace_back(name, std::move(*types));
  }
  return kernels;
}

string_view ptx_of_image(const void* image) {
  const auto* text = static_cast<const char*>(image);
  if (!text) return {};
  while (is_space(*text)) ++text;
  const bool begins = std::strncmp(text, ".version", 8) == 0 || std::strncmp(text, "//", 2) == 0 ||
                      std::strncmp(text, "/*", 2) == 0;
  return begins ? string_view(text) : string_view();
}

}  // namespace cuvmm::shim
