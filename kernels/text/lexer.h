// SPDX-License-Identifier: Apache-2.0
// PTX text as tokens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cuvmm::kernels {

struct Place {
  int line = 1, column = 1;
};

/// An error in a text, with its place.
struct Error {
  std::string message;  ///< empty: no error
  Place at;

  explicit operator bool() const { return !message.empty(); }
  /// "line 3, column 7: MESSAGE".
  std::string text() const;
};

struct Token {
  enum class Kind : std::uint8_t {
    kEnd,
    kWord,     ///< names, directives and opcodes with their modifiers
    kInteger,  ///< `value`
    kSingle,   ///< 0f3F800000; `value` is its bits
    kDouble,   ///< 0d3FF0000000000000 or 1.0; `value` is its bits
    kString,   ///< `text` without the quotes
    kSign,     ///< one character
    kBad,      ///< `text` gives the reason
  };
  Kind kind = Kind::kEnd;
  std::string_view text;
  Place at;
  std::uint64_t value = 0;

  bool is(std::string_view what) const { return text == what && kind != Kind::kString; }
};

/// Reads the tokens of a text, which must outlive the lexer and the tokens.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}
  /// The next token; after the last, always kEnd.
  Token next();

 private:
  char look(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  void step(std::size_t count = 1);
  bool skip_blanks();
  void skip_line();
  Token word();
  Token number();
  Token decimal(Token token, std::size_t begin);
  Token bits(Token token, Token::Kind kind, std::size_t digits);
  Token quoted();

  std::string_view text_;
  std::size_t at_ = 0;
  Place place_;
};

}  // namespace cuvmm::kernels
