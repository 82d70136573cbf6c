// SPDX-License-Identifier: Apache-2.0
// A recursive-descent parser of one line at a time, so that a mistake spoils its own line only.
#include <cctype>
#include <utility>

#include "api/driver/driver.h"
#include "program/program.h"

namespace cuvmm::program {

namespace {

bool is_name_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool is_name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Thrown inside this file only, to leave a line at its first mistake.
struct Mistake {
  std::size_t at;
  std::string message;
};

class LineParser {
 public:
  explicit LineParser(std::string_view line) : line_(line) {}

  Statement statement() {
    Statement statement;
    skip_space();
    while (peek() == '@') prefix(statement);
    std::string first = identifier("a function, a name or '@'");
    skip_space();
    if (peek() == '=') {
      ++at_;
      statement.result = std::move(first);
      skip_space();
      first = identifier("a function");
      skip_space();
    }
    statement.function = std::move(first);
    take('(', "'('");
    statement.arguments = arguments(')');
    skip_space();
    if (at_ < line_.size() && peek() != '#') fail("end of line or '#'");
    if (at_ < line_.size()) comment(statement);
    return statement;
  }

 private:
  // A value nests at most this deep, so that a malicious text cannot overflow the stack.
  static constexpr int kMaxDepth = 64;

  char peek() const { return at_ < line_.size() ? line_[at_] : '\0'; }
  void skip_space() {
    while (at_ < line_.size() && std::isspace(static_cast<unsigned char>(line_[at_]))) ++at_;
  }

  std::string next_text() const {
    if (at_ >= line_.size()) return "end of line";
    if (!is_name_char(line_[at_])) return "'" + std::string(1, line_[at_]) + "'";
    std::size_t end = at_;
    while (end < line_.size() && is_name_char(line_[end])) ++end;
    return "'" + std::string(line_.substr(at_, end - at_)) + "'";
  }
  [[noreturn]] void fail(const std::string& expected) const {
    throw Mistake{at_, "expected " + expected + ", found " + next_text()};
  }
  void take(char c, const char* expected) {
    skip_space();
    if (peek() != c) fail(expected);
    ++at_;
  }

  std::string identifier(const char* expected) {
    skip_space();
    if (!is_name_start(peek())) fail(expected);
    const std::size_t start = at_;
    while (is_name_char(peek())) ++at_;
    return std::string(line_.substr(start, at_ - start));
  }

  void prefix(Statement& statement) {
    ++at_;
    const char which = peek();
    if (which != 'p' && which != 't') fail("'p' or 't' after '@'");
    ++at_;
    const std::size_t start = at_;
    int number = 0;
    while (std::isdigit(static_cast<unsigned char>(peek())) && number < 1000) {
      number = number * 10 + (peek() - '0');
      ++at_;
    }
    if (at_ == start) fail("a number");
    constexpr int kMost = 63;
    if (number > kMost) throw Mistake{start, "expected a number up to 63, found a larger one"};
    (which == 'p' ? statement.process : statement.thread) = number;
    skip_space();
  }

  std::vector<Argument> arguments(char close) {
    std::vector<Argument> list;
    const char* const more = close == ')'   ? "')' or ','"
                             : close == ']' ? "']' or ','"
                                            : "'}' or ','";
    skip_space();
    if (peek() == close) return ++at_, list;
    for (;;) {
      list.push_back(argument(close != ']'));
      skip_space();
      if (peek() == close) return ++at_, list;
      take(',', more);
    }
  }

  Argument argument(bool may_have_key) {
    skip_space();
    const std::size_t start = at_;
    if (may_have_key && is_name_start(peek())) {
      std::string key = identifier("a key");
      skip_space();
      if (peek() == '=') {
        ++at_;
        return {std::move(key), value()};
      }
      at_ = start;
    }
    return {"", value()};
  }

  Value value() {
    if (++depth_ > kMaxDepth) throw Mistake{at_, "expected less nesting: more than 64 levels"};
    skip_space();
    const int column = static_cast<int>(at_) + 1;
    Value result;
    if (peek() == '[') {
      ++at_;
      result.kind = Value::Kind::kList;
      result.parts = arguments(']');
    } else if (peek() == '{') {
      ++at_;
      result.kind = Value::Kind::kRecord;
      result.parts = arguments('}');
    } else if (peek() == '"') {
      result = string();
    } else {
      result = chain(Value::Kind::kPair, ':', 2);
    }
    result.column = column;
    --depth_;
    return result;
  }

  // words [":" words], sum {"|" sum}. A chain of one element is that element.
  Value chain(Value::Kind kind, char separator, std::size_t most) {
    const int column = static_cast<int>(at_) + 1;
    Value first =
        kind == Value::Kind::kPair ? chain(Value::Kind::kAny, '|', ~std::size_t{0}) : sum();
    skip_space();
    if (peek() != separator) return first;
    Value result;
    result.kind = kind;
    result.column = column;
    result.parts.push_back({"", std::move(first)});
    while (peek() == separator && result.parts.size() < most) {
      ++at_;
      result.parts.push_back({"", kind == Value::Kind::kPair
                                      ? chain(Value::Kind::kAny, '|', ~std::size_t{0})
                                      : sum()});
      skip_space();
    }
    return result;
  }

  Value sum() {
    skip_space();
    Value result;
    result.kind = Value::Kind::kSum;
    result.column = static_cast<int>(at_) + 1;
    std::string sign;
    if (peek() == '-') sign = "-", ++at_;
    for (;;) {
      result.parts.push_back({sign, term()});
      skip_space();
      if (peek() != '+' && peek() != '-') break;
      sign = peek() == '-' ? "-" : "";
      ++at_;
    }
    if (result.parts.size() == 1 && result.parts[0].key.empty()) {
      return std::move(result.parts[0].value);
    }
    return result;
  }

  Value term() {
    skip_space();
    Value result;
    result.column = static_cast<int>(at_) + 1;
    if (std::isdigit(static_cast<unsigned char>(peek()))) {
      result.kind = Value::Kind::kNumber;
      result.number = number();
      return result;
    }
    result.text = identifier("a value");
    if (peek() == '(') {
      if (++depth_ > kMaxDepth) throw Mistake{at_, "expected less nesting: more than 64 levels"};
      ++at_;
      result.kind = Value::Kind::kCall;
      result.parts = arguments(')');
      --depth_;
    } else if (result.text == "null") {
      result.kind = Value::Kind::kNull;
      result.text.clear();
    } else {
      result.kind = Value::Kind::kName;
    }
    return result;
  }

  std::uint64_t number() {
    const std::size_t start = at_;
    unsigned base = 10;
    if (peek() == '0' && at_ + 1 < line_.size() && line_[at_ + 1] == 'x') base = 16, at_ += 2;
    std::uint64_t value = 0;
    const std::size_t digits = at_;
    for (;; ++at_) {
      const char c = static_cast<char>(std::tolower(static_cast<unsigned char>(peek())));
      unsigned digit;
      if (c >= '0' && c <= '9') {
        digit = static_cast<unsigned>(c - '0');
      } else if (base == 16 && c >= 'a' && c <= 'f') {
        digit = static_cast<unsigned>(c - 'a') + 10;
      } else {
        break;
      }
      if (value > (~std::uint64_t{0} - digit) / base) too_large(start);
      value = value * base + digit;
    }
    if (at_ == digits) fail("a hexadecimal digit");
    constexpr std::pair<char, int> kSuffixes[] = {{'K', 10}, {'M', 20}, {'G', 30}, {'T', 40}};
    for (const auto& [suffix, shift] : kSuffixes) {
      if (peek() != suffix) continue;
      if (value > (~std::uint64_t{0} >> shift)) too_large(start);
      value <<= shift;
      ++at_;
      break;
    }
    if (is_name_char(peek())) fail("the end of the number (suffixes are K, M, G and T)");
    return value;
  }
  [[noreturn]] static void too_large(std::size_t at) {
    throw Mistake{at, "expected a number below 2^64, found a larger one"};
  }

  Value string() {
    Value result;
    result.kind = Value::Kind::kString;
    const std::size_t end = line_.find('"', at_ + 1);
    if (end == std::string_view::npos)
      throw Mistake{line_.size(), "expected '\"', found end of line"};
    result.text = std::string(line_.substr(at_ + 1, end - at_ - 1));
    if (const auto bad = result.text.find('\\'); bad != std::string::npos) {
      throw Mistake{at_ + 1 + bad, "expected no backslash in a string"};
    }
    at_ = end + 1;
    return result;
  }

  std::string_view word() {
    skip_space();
    const std::size_t start = at_;
    while (at_ < line_.size() && !std::isspace(static_cast<unsigned char>(line_[at_]))) ++at_;
    return line_.substr(start, at_ - start);
  }

  void comment(Statement& statement) {
    ++at_;
    skip_space();
    if (line_.substr(at_).starts_with("CUDA_")) {
      const std::size_t start = at_;
      const std::string_view code = word();
      statement.expected = result_from_name(code);
      if (!statement.expected) {
        throw Mistake{start, "expected a result code of cuda.h, found '" + std::string(code) + "'"};
      }
      for (skip_space(); peek() == '=' || peek() == '!'; skip_space()) {
        const std::string_view token = word();
        if (token.size() == 1)
          throw Mistake{at_ - 1, "expected a word behind '" + std::string(token) + "'"};
        if (token.front() == '=') {
          statement.expected_value = std::string(token.substr(1));
        } else {
          statement.breaks.emplace_back(token.substr(1));
        }
      }
    }
    std::string_view note = line_.substr(at_);
    while (!note.empty() && std::isspace(static_cast<unsigned char>(note.back())))
      note.remove_suffix(1);
    statement.note = std::string(note);
  }

  std::string_view line_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

bool blank(std::string_view line) {
  const std::size_t start = line.find_first_not_of(" \t\r\f\v");
  return start == std::string_view::npos || line[start] == '#';
}

constexpr std::string_view kHeader = "cuvmm-program";

// True if the line is the header, correct or not.
bool header(std::string_view line, int number, std::vector<ParseError>& errors) {
  if (!line.starts_with(kHeader)) return false;
  std::string_view version = line.substr(kHeader.size());
  while (!version.empty() && std::isspace(static_cast<unsigned char>(version.front())))
    version.remove_prefix(1);
  while (!version.empty() && std::isspace(static_cast<unsigned char>(version.back())))
    version.remove_suffix(1);
  if (version != std::to_string(kProgramVersion)) {
    errors.push_back({number, static_cast<int>(kHeader.size()) + 2,
                      "expected version 1, found '" + std::string(version) + "'"});
  }
  return true;
}

}  // namespace

std::optional<Statement> parse_statement(std::string_view line, int number,
                                         std::vector<ParseError>& errors) {
  if (blank(line)) return std::nullopt;
  try {
    Statement statement = LineParser(line).statement();
    statement.line = number;
    return statement;
  } catch (const Mistake& mistake) {
    errors.push_back({number, static_cast<int>(mistake.at) + 1, mistake.message});
    return std::nullopt;
  }
}

ParsedProgram parse_program(std::string_view text) {
  ParsedProgram parsed;
  bool first = true;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (blank(line)) continue;
    const bool is_header = first && header(line, number, parsed.errors);
    first = false;
    if (is_header) continue;
    if (auto statement = parse_statement(line, number, parsed.errors)) {
      parsed.program.statements.push_back(std::move(*statement));
    }
  }
  check_program(parsed.program, parsed.errors);
  return parsed;
}

}  // namespace cuvmm::program
