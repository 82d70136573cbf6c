// SPDX-License-Identifier: Apache-2.0
// Reads what statements of PTX are made of: variables and operands.
#pragma once

#include <vector>

#include "kernels/text/syntax.h"

namespace cuvmm::kernels {

/// One word ahead in a text. After the first mistake, all it reads is the end.
class Reader {
 public:
  explicit Reader(std::string_view text) : lexer_(text) { token_ = lexer_.next(), check(); }

  bool good() const { return !error_; }
  const Error& error() const { return error_; }
  void fail(std::string message);
  const Token& token() const { return token_; }
  bool at(std::string_view what) const { return good() && token_.is(what); }
  void advance();
  /// As advance(); the text must not end there.
  void advance_in_statement();
  void expect(std::string_view what);
  std::string_view name();
  /// "reg" at ".reg"; empty where the next is no directive.
  std::string_view word_behind_dot() const;
  void skip_line();
  /// Past the next semicolon.
  void skip_statement();

  /// `.space .type a, b[4] = {1};`
  void variables(std::vector<Variable>& out);
  /// One, without what ends it.
  void variable(std::vector<Variable>& out);
  Operand operand() { return operand(0); }

 private:
  void check();
  Variable specification();
  void declarator(Variable& variable);
  /// These answer the byte behind the last one that they gave a value.
  std::uint64_t initializer(Variable& variable, const std::vector<std::uint64_t>& strides);
  std::uint64_t list(Variable& variable, const std::vector<std::uint64_t>& strides,
                     std::size_t level, std::uint64_t begin);
  void element(Variable& variable, std::uint64_t at);
  std::uint64_t offset();
  Operand operand(int depth);
  Operand number(bool negative);
  void parts(Operand& out, std::string_view end, int depth);

  Lexer lexer_;
  Token token_;
  Error error_;
};

}  // namespace cuvmm::kernels
