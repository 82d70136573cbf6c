// SPDX-License-Identifier: Apache-2.0
#include "program/c/c_expression.h"

#include <fmt/core.h>

namespace cuvmm::program {

std::string c_number(std::uint64_t number) {
  return number < 1u << 16 ? fmt::format("{}u", number) : fmt::format("0x{:x}ull", number);
}

std::string c_expression(const Value& value, std::span<const Word> words, std::string& error) {
  switch (value.kind) {
    case Value::Kind::kNull:
      return "0u";
    case Value::Kind::kNumber:
      return c_number(value.number);
    case Value::Kind::kName:
      for (const Word& word : words) {
        if (word.word != value.text) continue;
        // An enumerator that the headers of this build lack is written as a number.
        return word.c_name.empty() ? c_number(word.value)
                                   : fmt::format("(uint64_t){}", word.c_name);
      }
      return c_variable(value.text);
    case Value::Kind::kSum:
    case Value::Kind::kAny: {
      std::string text = "(";
      for (const Argument& part : value.parts) {
        const char* sign = value.kind == Value::Kind::kAny ? " | "
                           : part.key == "-"               ? " - "
                                                           : " + ";
        if (text != "(") {
          text += sign;
        } else if (part.key == "-") {
          text += "0ull - ";
        }
        text += c_expression(part.value, words, error);
      }
      return text + ")";
    }
    case Value::Kind::kCall:
      if (value.text == "host" && !value.parts.empty()) {
        const std::string size = c_expression(value.parts[0].value, {}, error);
        const std::string fill =
            value.parts.size() > 1 ? c_expression(value.parts[1].value, {}, error) : "0u";
        return fmt::format("host_buffer({}, {})", size, fill);
      }
      break;
    default:
      break;
  }
  error = "'" + print(value) + "' cannot be written as C";
  return "0";
}

std::string c_string(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\' && c != '?';
    result += plain ? std::string(1, c) : fmt::format("\\{:03o}", byte);
  }
  return result + "\"";
}

}  // namespace cuvmm::program
