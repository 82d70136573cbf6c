// SPDX-License-Identifier: Apache-2.0
// The program text as a tree: what the parser makes, and what the executor and the C writer walk.
// The language is described in docs/program-text.md.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cuvmm::program {

struct Argument;

/// One value of an argument. Names and words are not told apart here: the parameter decides.
struct Value {
  enum class Kind : std::uint8_t {
    kNull,
    kNumber,  ///< number
    kName,    ///< text: a bound name or a word of a vocabulary
    kString,  ///< text, without its quotes
    kCall,    ///< text(parts), as in location(99, 0) and host(64)
    kSum,     ///< parts, the key "-" for those that are subtracted
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
  std::string key;  ///< "" when positional
  Value value;
};

bool operator==(const Value& a, const Value& b);
bool operator==(const Argument& a, const Argument& b);

/// One line.
struct Statement {
  int process = 0;
  int thread = 0;
  std::string result;    ///< the name it binds, "" for none
  std::string function;  ///< "cuMemMap", "init"
  std::vector<Argument> arguments;
  std::optional<CUresult> expected;  ///< what it must answer
  std::string expected_value;        ///< the outcome's value, "" when none is expected
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
/// The statement alone, without the comment that says what to expect.
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

/// What could be read, and every mistake: unknown functions, parameters and names among them.
struct ParsedProgram {
  Program program;
  std::vector<ParseError> errors;
};

ParsedProgram parse_program(std::string_view text);

/// Reads one line. Nothing for a line without a statement, and for one with a mistake, which is
/// appended to `errors`. Only the grammar is checked; check_program() does the rest.
std::optional<Statement> parse_statement(std::string_view line, int number,
                                         std::vector<ParseError>& errors);

/// Appends what is wrong beyond the grammar: functions, parameters, missing arguments, unbound
/// names.
void check_program(const Program& program, std::vector<ParseError>& errors);

}  // namespace cuvmm::program
