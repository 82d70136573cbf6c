// SPDX-License-Identifier: Apache-2.0
// The program text as a tree: the parser makes it, the executor and the C writer walk it.
// docs/program-text.md describes the language.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cuvmm::program {

struct Argument;

/// One value of an argument. The parameter decides whether a kName is a bound name or a word.
struct Value {
  enum class Kind : std::uint8_t {
    kNull,
    kNumber,  ///< number
    kName,    ///< text: a bound name or a word of a vocabulary
    kString,  ///< text, without its quotes
    kCall,    ///< text(parts), as in location(99, 0) and host(64)
    kSum,     ///< parts; subtracted parts have the key "-"
    kAny,     ///< parts joined with |
    kPair,    ///< parts[0]:parts[1]
    kList,    ///< [parts]
    kRecord,  ///< {parts}
  };
  Kind kind = Kind::kNull;
  std::uint64_t number = 0;
  std::string text;
  std::vector<Argument> parts;
  int column = 0;  ///< 1-based, 0 unknown; not part of equality
};

struct Argument {
  std::string key;  ///< "" for a positional argument
  Value value;
};

bool operator==(const Value& a, const Value& b);
bool operator==(const Argument& a, const Argument& b);

/// One line of a program text.
struct Statement {
  int process = 0;
  int thread = 0;
  std::string result;    ///< the name that the statement binds, "" for none
  std::string function;  ///< "cuMemMap", "init"
  std::vector<Argument> arguments;
  std::optional<CUresult> expected;  ///< the code that the call must answer
  std::string expected_value;        ///< the outcome's value, "" if the text expects none
  std::vector<std::string> breaks;   ///< ids of the rules that it breaks
  std::string note;                  ///< the rest of the comment
  int line = 0;                      ///< 1-based, 0 unknown; not part of equality
};

bool operator==(const Statement& a, const Statement& b);

struct Program {
  std::vector<Statement> statements;
  friend bool operator==(const Program&, const Program&) = default;
};

/// The newest version of the language, as the header line writes it.
inline constexpr int kProgramVersion = 1;

/// The text of a value, statement or program. parse_program(print(p)) gives p again.
std::string print(const Value& value);
std::string print(const std::vector<Argument>& arguments);
std::string print(const Statement& statement);
/// The statement alone, without the comment about the expected answer.
std::string call_text(const Statement& statement);
std::string print(const Program& program);

/// A mistake in a text. Lines and columns count from 1; columns count bytes.
struct ParseError {
  int line = 0;
  int column = 0;
  std::string message;  ///< "expected ')' or ',', found end of line"
};

/// "FILE:LINE:COLUMN: message"
std::string format_error(const ParseError& error, std::string_view file);

/// All statements that could be read, and every mistake, such as unknown functions, parameters and
/// names.
struct ParsedProgram {
  Program program;
  std::vector<ParseError> errors;
};

ParsedProgram parse_program(std::string_view text);

/// Reads one line. Nothing for a line without a statement, and for a line with a mistake, which it
/// appends to `errors`. Checks the grammar only; check_program() does the rest.
std::optional<Statement> parse_statement(std::string_view line, int number,
                                         std::vector<ParseError>& errors);

/// Appends mistakes beyond the grammar: unknown functions and parameters, missing arguments,
/// unbound names.
void check_program(const Program& program, std::vector<ParseError>& errors);

}  // namespace cuvmm::program
