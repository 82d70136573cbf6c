// SPDX-License-Identifier: Apache-2.0
#include "kernels/text/lexer.h"

#include <bit>
#include <cctype>
#include <charconv>
#include <cstdlib>

namespace cuvmm::kernels {

namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }
bool begins_word(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%' ||
         c == '.';
}
bool in_word(char c) { return begins_word(c) || digit(c); }

Token bad(Token token, std::string_view why) {
  token.kind = Token::Kind::kBad;
  token.text = why;
  return token;
}

}  // namespace

std::string Error::text() const {
  return "line " + std::to_string(at.line) + ", column " + std::to_string(at.column) + ": " +
         message;
}

void Lexer::step(std::size_t count) {
  for (; count != 0 && at_ < text_.size(); --count, ++at_) {
    if (text_[at_] == '\n') {
      ++place_.line;
      place_.column = 1;
    } else {
      ++place_.column;
    }
  }
}

void Lexer::skip_line() {
  while (at_ < text_.size() && look() != '\n') step();
}

// False: a comment does not end.
bool Lexer::skip_blanks() {
  while (at_ < text_.size()) {
    if (std::isspace(static_cast<unsigned char>(look()))) {
      step();
    } else if (look() == '/' && look(1) == '/') {
      skip_line();
    } else if (look() == '#' && place_.column == 1) {
      skip_line();  // a line that a preprocessor left
    } else if (look() == '/' && look(1) == '*') {
      const std::size_t end = text_.find("*/", at_ + 2);
      if (end == text_.npos) return false;
      step(end + 2 - at_);
    } else {
      break;
    }
  }
  return true;
}

Token Lexer::next() {
  if (!skip_blanks()) {
    const Token token{Token::Kind::kBad, "a comment that does not end", place_, 0};
    step(text_.size());
    return token;
  }
  if (at_ >= text_.size()) return {Token::Kind::kEnd, "", place_, 0};
  const char c = look();
  if (digit(c) || (c == '.' && digit(look(1)))) return number();
  if (c == '"') return quoted();
  if (begins_word(c) && !((c == '%' || c == '.') && !in_word(look(1)))) return word();
  Token token{Token::Kind::kSign, text_.substr(at_, 1), place_, 0};
  constexpr std::string_view kSigns = "(){}[]<>,;:@!+-|=*/&^~%.?";
  if (kSigns.find(c) == kSigns.npos) token = bad(token, "a character that PTX does not have");
  step();
  return token;
}

// A directive ends before the next one: `.param.u64` is two words.
Token Lexer::word() {
  const std::size_t begin = at_;
  const bool directive = look() == '.';
  Token token{Token::Kind::kWord, "", place_, 0};
  step();
  while ((in_word(look()) && !(directive && look() == '.')) ||
         (look() == ':' && look(1) == ':' && in_word(look(2)))) {
    step(look() == ':' ? 2 : 1);
  }
  token.text = text_.substr(begin, at_ - begin);
  return token;
}

Token Lexer::quoted() {
  Token token{Token::Kind::kString, "", place_, 0};
  const std::size_t end = text_.find('"', at_ + 1);
  if (end == text_.npos) {
    step(text_.size());
    return bad(token, "a string that does not end");
  }
  token.text = text_.substr(at_ + 1, end - at_ - 1);
  step(end + 1 - at_);
  return token;
}

// Reads the bits of a floating-point number, in hexadecimal.
Token Lexer::bits(Token token, Token::Kind kind, std::size_t digits) {
  step(2);
  token.text = text_.substr(at_, digits);
  const char* const end = token.text.data() + token.text.size();
  const auto read = std::from_chars(token.text.data(), end, token.value, 16);
  if (token.text.size() != digits || read.ptr != end) {
    return bad(token, "a number with too few digits");
  }
  step(digits);
  if (in_word(look())) return bad(token, "a number with too many digits");
  token.kind = kind;
  return token;
}

Token Lexer::decimal(Token token, std::size_t begin) {
  const std::string all(text_.substr(begin, at_ - begin));
  char* end = nullptr;
  token.value = std::bit_cast<std::uint64_t>(std::strtod(all.c_str(), &end));
  token.kind = Token::Kind::kDouble;
  token.text = text_.substr(begin, at_ - begin);
  return *end == '\0' ? token : bad(token, "not a number");
}

Token Lexer::number() {
  Token token{Token::Kind::kInteger, "", place_, 0};
  if (look() == '0' && (look(1) == 'f' || look(1) == 'F')) {
    return bits(token, Token::Kind::kSingle, 8);
  }
  if (look() == '0' && (look(1) == 'd' || look(1) == 'D')) {
    return bits(token, Token::Kind::kDouble, 16);
  }
  const std::size_t begin = at_;
  int base = 10;
  std::size_t skipped = 0;
  if (look() == '0' && (look(1) == 'x' || look(1) == 'X')) base = 16, skipped = 2;
  if (look() == '0' && (look(1) == 'b' || look(1) == 'B')) base = 2, skipped = 2;
  if (look() == '0' && digit(look(1))) base = 8, skipped = 1;
  step(skipped);
  const std::size_t digits = at_;
  bool point = false;
  const auto letter = [&](std::size_t ahead) {
    return std::isalpha(static_cast<unsigned char>(look(ahead))) || look(ahead) == '_';
  };
  // The point of `.align 8.b8` begins a directive; that of 1.e5 is in the number.
  const auto in_number = [&] {
    const bool exponent = (look(1) | 0x20) == 'e' && !letter(2);
    return base != 16 && (!letter(1) || exponent);
  };
  while (std::isalnum(static_cast<unsigned char>(look())) || (look() == '.' && in_number()) ||
         ((look() == '+' || look() == '-') && point && (text_[at_ - 1] | 0x20) == 'e')) {
    point |= base != 16 && (look() == '.' || (look() | 0x20) == 'e');
    step();
  }
  if (point) return decimal(token, begin);
  token.text = text_.substr(begin, at_ - begin);
  std::string_view body = text_.substr(digits, at_ - digits);
  if (!body.empty() && (body.back() == 'U' || body.back() == 'u')) body.remove_suffix(1);
  if (body.empty() && base == 8) return token;  // 0U
  const char* const end = body.data() + body.size();
  const auto read = std::from_chars(body.data(), end, token.value, base);
  if (body.empty() || read.ptr != end || read.ec != std::errc{}) return bad(token, "not a number");
  return token;
}

}  // namespace cuvmm::kernels
