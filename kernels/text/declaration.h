// SPDX-License-Identifier: Apache-2.0
// Reads the parts of PTX statements: variables and operands.
#pragma once

#include <vector>

#include "kernels/text/syntax.h"

namespace cuvmm::kernels {

/// Reads a text with one token of look-ahead. After the first error, every token is the end.
class Reader {
 public:
  explicit Reader(std::string_view text) : lexer_(text) { token_ = lexer_.next(), check(); }

  bool good() const { return !error_; }
  const Error& error() const { return error_; }
  void fail(std::string message);
  const Token& token() const { return token_; }
  bool at(std::string_view what) const { return good() && token_.is(what); }
  void advance();
  /// As advance(), but the end of the text is an error.
  void advance_in_statement();
  void expect(std::string_view what);
  std::string_view name();
  /// "reg" at ".reg"; empty where the next token is no directive.
  std::string_view word_behind_dot() const;
  void skip_line();
  /// Skips to the token after the next semicolon.
  void skip_statement();

  /// `.space .type a, b[4] = {1};`
  void variables(std::vector<Variable>& out);
  /// Reads one variable, without the character that ends it.
  void variable(std::vector<Variable>& out);
  /// `has_lists`: (a, b) is a list, as in a call; else it is a constant.
  Operand operand(bool has_lists) {
    has_lists_ = has_lists;
    return operand(0);
  }

 private:
  void check();
  Variable specification();
  void declarator(Variable& variable);
  /// Both return the number of the byte after the last one that has a value.
  std::uint64_t initializer(Variable& variable, const std::vector<std::uint64_t>& strides);
  std::uint64_t list(Variable& variable, const std::vector<std::uint64_t>& strides,
                     std::size_t level, std::uint64_t begin);
  void element(Variable& variable, std::uint64_t at);
  std::uint64_t offset();
  /// Both read the rest of an expression of constants, such as 4*8+1.
  std::uint64_t rest(std::uint64_t left, int least);
  std::uint64_t primary(int depth);
  int precedence() const;
  Operand operand(int depth);
  bool has_lists_ = false;
  Operand number(bool negative);
  void parts(Operand& out, std::string_view end, int depth);

  Lexer lexer_;
  Token token_;
  Error error_;
};

}  // namespace cuvmm::kernels
