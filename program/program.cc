// SPDX-License-Identifier: Apache-2.0
#include "program/program.h"

#include <tuple>

#include "api/driver/driver.h"
#include "api/words.h"

namespace cuvmm::program {

bool operator==(const Value& a, const Value& b) {
  return a.kind == b.kind && a.number == b.number && a.text == b.text && a.parts == b.parts;
}

bool operator==(const Argument& a, const Argument& b) {
  return a.key == b.key && a.value == b.value;
}

bool operator==(const Statement& a, const Statement& b) {
  const auto fields = [](const Statement& s) {
    return std::tie(s.process, s.thread, s.result, s.function, s.arguments, s.expected,
                    s.expected_value, s.breaks, s.note);
  };
  return fields(a) == fields(b);
}

namespace {
std::string joined(const std::vector<Argument>& parts, std::string_view separator) {
  std::string text;
  for (const Argument& part : parts) {
    if (!text.empty()) text += separator;
    if (!part.key.empty()) text += part.key + "=";
    text += print(part.value);
  }
  return text;
}

std::string sum_text(const std::vector<Argument>& parts) {
  std::string text;
  for (const Argument& part : parts) {
    if (part.key == "-") {
      text += '-';
    } else if (!text.empty()) {
      text += '+';
    }
    text += print(part.value);
  }
  return text;
}

// The text of a number that never begins with a minus, because the parser would read
// number_text()'s minus as a sum.
std::string plain_number(std::uint64_t number) {
  std::string text = number_text(number);
  if (text.front() != '-') return text;
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex(16, '0');
  for (auto digit = hex.rbegin(); digit != hex.rend(); ++digit, number >>= 4) {
    *digit = kDigits[number & 15];
  }
  return "0x" + hex;
}
}  // namespace

std::string print(const Value& value) {
  switch (value.kind) {
    case Value::Kind::kNull:
      return "null";
    case Value::Kind::kNumber:
      return plain_number(value.number);
    case Value::Kind::kName:
      return value.text;
    case Value::Kind::kString:
      return '"' + value.text + '"';
    case Value::Kind::kCall:
      return value.text + "(" + joined(value.parts, ", ") + ")";
    case Value::Kind::kSum:
      return sum_text(value.parts);
    case Value::Kind::kAny:
      return joined(value.parts, "|");
    case Value::Kind::kPair:
      return joined(value.parts, ":");
    case Value::Kind::kList:
      return "[" + joined(value.parts, ", ") + "]";
    case Value::Kind::kRecord:
      return "{" + joined(value.parts, ", ") + "}";
  }
  return {};
}

std::string print(const std::vector<Argument>& arguments) { return joined(arguments, ", "); }

std::string call_text(const Statement& statement) {
  std::string text;
  if (statement.process) text += "@p" + std::to_string(statement.process) + " ";
  if (statement.thread) text += "@t" + std::to_string(statement.thread) + " ";
  if (!statement.result.empty()) text += statement.result + " = ";
  text += statement.function + "(" + print(statement.arguments) + ")";
  return text;
}

std::string print(const Statement& statement) {
  std::string text = call_text(statement);
  std::string comment;
  const auto add = [&](const std::string& word) { comment += " " + word; };
  if (statement.expected) {
    add(result_name(*statement.expected));
    if (!statement.expected_value.empty()) add("=" + statement.expected_value);
    for (const std::string& rule : statement.breaks) add("!" + rule);
  }
  if (!statement.note.empty()) add(statement.note);
  return comment.empty() ? text : text + "  #" + comment;
}

std::string print(const Program& program) {
  std::string text = "cuvmm-program " + std::to_string(kProgramVersion) + "\n";
  for (const Statement& statement : program.statements) text += print(statement) + "\n";
  return text;
}

std::string format_error(const ParseError& error, std::string_view file) {
  return std::string(file) + ":" + std::to_string(error.line) + ":" + std::to_string(error.column) +
         ": " + error.message;
}

}  // namespace cuvmm::program
