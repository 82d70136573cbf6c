// SPDX-License-Identifier: Apache-2.0
#include "kernels/text/declaration.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace cuvmm::kernels {

namespace {

constexpr std::uint64_t kLargest = std::uint64_t{1} << 40;  // bytes of a variable
constexpr std::size_t kMostDimensions = 16;
constexpr int kDeepest = 4;  // levels of operands within operands
constexpr int kDeepestConstant = 64;

}  // namespace

void Reader::fail(std::string message) {
  if (error_) return;
  error_ = {std::move(message), token_.at};
  token_ = {Token::Kind::kEnd, "", token_.at, 0};
}

void Reader::check() {
  if (token_.kind == Token::Kind::kBad) fail(std::string(token_.text));
}

void Reader::advance() {
  if (!good()) return;
  token_ = lexer_.next();
  check();
}

void Reader::advance_in_statement() {
  if (token_.kind == Token::Kind::kEnd) return fail("the text ends in the middle of a statement");
  advance();
}

void Reader::expect(std::string_view what) {
  if (!at(what)) return fail("expected `" + std::string(what) + "`");
  advance();
}

std::string_view Reader::name() {
  const std::string_view name = token_.text;
  if (token_.kind != Token::Kind::kWord) fail("expected a name");
  if (!good()) return {};
  advance();
  return name;
}

std::string_view Reader::word_behind_dot() const {
  const bool directive = token_.kind == Token::Kind::kWord && token_.text[0] == '.';
  return directive ? token_.text.substr(1) : std::string_view{};
}

void Reader::skip_line() {
  for (const int line = token_.at.line;
       good() && token_.kind != Token::Kind::kEnd && token_.at.line == line;) {
    advance();
  }
}

void Reader::skip_statement() {
  while (good() && !at(";")) advance_in_statement();
  advance();
}

// Reads a declaration up to the name: `.global .align 4 .v2 .f32`.
Variable Reader::specification() {
  Variable out;
  out.at = token_.at;
  while (good() && token_.kind == Token::Kind::kWord && token_.text[0] == '.') {
    const std::string_view word = word_behind_dot();
    advance();
    if (const Type type = type_named(word); type != Type::kNone) {
      out.type = type;
    } else if (const Space space = space_named(word); space != Space::kNone) {
      // In `.ptr .global` the space is that of the memory which a parameter points to.
      if (out.space == Space::kNone) out.space = space;
    } else if (word == "v2" || word == "v4") {
      out.lanes = static_cast<unsigned>(word[1] - '0');
    } else if (word == "align") {
      if (token_.kind != Token::Kind::kInteger || !std::has_single_bit(token_.value) ||
          token_.value > 4096) {
        fail("expected an alignment");
      }
      out.align = static_cast<unsigned>(token_.value);
      advance();
    } else if (word == "attribute") {
      expect("(");
      for (; good() && !at(")"); advance_in_statement()) out.is_managed |= at(".managed");
      expect(")");
    } else if (word == "texref" || word == "samplerref" || word == "surfref") {
      out.type = Type::kB64;
      out.is_opaque = true;
    } else if (word != "ptr") {
      fail("." + std::string(word) + " is no part of a variable");
    }
  }
  if (good() && out.type == Type::kNone) fail("expected a type");
  out.size = std::uint64_t{bytes_of(out.type)} * out.lanes;
  if (out.align == 0) out.align = static_cast<unsigned>(std::max<std::uint64_t>(out.size, 1));
  return out;
}

// Reads a declaration from the name on; `size` is that of an element, in bytes.
void Reader::declarator(Variable& variable) {
  variable.name = name();
  if (at("<")) {
    advance();
    variable.range = static_cast<unsigned>(std::min<std::uint64_t>(token_.value, ~0U));
    if (token_.kind != Token::Kind::kInteger) fail("expected how many registers");
    advance();
    return expect(">");
  }
  std::vector<std::uint64_t> dimensions;
  bool open = false;  // the initial values give the first dimension
  while (at("[")) {
    advance();
    std::uint64_t count = 0;
    if (token_.kind == Token::Kind::kInteger) {
      count = token_.value;
      advance();
      count = rest(count, 1);
    } else {
      open = true;
    }
    expect("]");
    if (dimensions.size() == kMostDimensions) return fail("too many dimensions");
    dimensions.push_back(count);
  }
  std::vector<std::uint64_t> strides{variable.size};
  for (auto at = dimensions.rbegin(); at != dimensions.rend(); ++at) {
    if (*at != 0 && strides.front() > kLargest / *at) return fail("a variable that is too large");
    strides.insert(strides.begin(), strides.front() * *at);
  }
  variable.size = open ? 0 : strides.front();
  if (at("=")) {
    if (open) strides.front() = kLargest;
    const std::uint64_t end = initializer(variable, strides);
    if (open) variable.size = end;
  }
}

std::uint64_t Reader::initializer(Variable& variable, const std::vector<std::uint64_t>& strides) {
  advance();
  if (at("{")) return list(variable, strides, 0, 0);
  element(variable, 0);
  return bytes_of(variable.type);
}

// Reads the values of the part of the variable that begins at byte `begin` and has strides[level]
// bytes.
std::uint64_t Reader::list(Variable& variable, const std::vector<std::uint64_t>& strides,
                           std::size_t level, std::uint64_t begin) {
  expect("{");
  const std::uint64_t bytes = bytes_of(variable.type);
  std::uint64_t at_byte = begin;
  const std::uint64_t end = begin + strides[level];
  while (good() && !at("}")) {
    const bool inner = at("{");
    if (inner && level + 1 == strides.size())
      return fail("a list too deep for the variable"), begin;
    const std::uint64_t step = inner ? strides[level + 1] : bytes;
    if (step > end - at_byte) return fail("more values than the variable has room for"), begin;
    if (inner) {
      list(variable, strides, level + 1, at_byte);
    } else {
      element(variable, at_byte);
    }
    at_byte += step;
    if (!at("}")) expect(",");
  }
  expect("}");
  return at_byte;
}

void Reader::element(Variable& variable, std::uint64_t where) {
  const unsigned bytes = bytes_of(variable.type);
  std::uint64_t value = 0;
  if (token_.kind == Token::Kind::kWord) {
    Reference reference{where, "", 0};
    const bool generic = at("generic");
    if (generic) {
      advance();
      expect("(");
    }
    reference.name = name();
    if (generic) expect(")");
    reference.addend = offset();
    variable.references.push_back(std::move(reference));
  } else {
    const bool negative = at("-");
    if (negative) advance();
    const Operand read = number(negative);
    value = read.value;
    if (variable.type == Type::kF32 && read.kind == Operand::Kind::kDouble) {
      value = std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(value)));
    }
  }
  if (!good() || value == 0) return;
  if (variable.contents.size() < where + bytes) variable.contents.resize(where + bytes);
  std::memcpy(&variable.contents[where], &value, std::min<std::size_t>(bytes, sizeof value));
}

void Reader::variable(std::vector<Variable>& out) {
  Variable made = specification();
  declarator(made);
  if (good()) out.push_back(std::move(made));
}

void Reader::variables(std::vector<Variable>& out) {
  const Variable kind = specification();
  do {
    Variable made = kind;
    made.at = token_.at;
    declarator(made);
    if (good()) out.push_back(std::move(made));
    if (at(",")) {
      advance();
    } else {
      break;
    }
  } while (good());
  expect(";");
}

// Reads "+8", "-8", "+-8", or nothing.
std::uint64_t Reader::offset() {
  std::uint64_t sum = 0;
  while (at("+") || at("-")) {
    bool negative = at("-");
    advance();
    if (at("-")) {
      negative = !negative;
      advance();
    }
    if (token_.kind != Token::Kind::kInteger) fail("expected an offset");
    sum += negative ? -token_.value : token_.value;
    advance();
  }
  return sum;
}

// The precedence of the binary operator at the next token; 0: the token is none.
int Reader::precedence() const {
  struct Known {
    std::string_view sign;
    int precedence;
  };
  constexpr Known kOperators[] = {{"|", 1}, {"^", 2}, {"&", 3}, {"<", 4}, {">", 4},
                                  {"+", 5}, {"-", 5}, {"*", 6}, {"/", 6}, {"%", 6}};
  for (const Known& each : kOperators) {
    if (at(each.sign)) return each.precedence;
  }
  return 0;
}

std::uint64_t Reader::primary(int depth) {
  if (depth > kDeepestConstant) return fail("a constant that is nested too deeply"), 0;
  for (const char* sign : {"-", "~", "+"}) {
    if (!at(sign)) continue;
    advance();
    const std::uint64_t value = primary(depth + 1);
    return *sign == '-' ? -value : *sign == '~' ? ~value : value;
  }
  if (at("(")) {
    advance();
    const std::uint64_t value = rest(primary(depth + 1), 1);
    expect(")");
    return value;
  }
  const std::uint64_t value = token_.value;
  if (token_.kind != Token::Kind::kInteger) fail("expected an integer");
  advance();
  return value;
}

// Reads on while operators bind at least as `least`.
std::uint64_t Reader::rest(std::uint64_t left, int least) {
  for (int own = precedence(); good() && own >= least && own != 0; own = precedence()) {
    const char sign = token_.text.front();
    advance();
    if (sign == '<' || sign == '>') expect(std::string_view(&sign, 1));
    std::uint64_t right = primary(0);
    right = rest(right, own + 1);
    if ((sign == '/' || sign == '%') && right == 0) return fail("a division by zero"), 0;
    switch (sign) {
      case '|':
        left |= right;
        break;
      case '^':
        left ^= right;
        break;
      case '&':
        left &= right;
        break;
      case '<':
        left = right < 64 ? left << right : 0;
        break;
      case '>':
        left = right < 64 ? left >> right : 0;
        break;
      case '+':
        left += right;
        break;
      case '-':
        left -= right;
        break;
      case '*':
        left *= right;
        break;
      case '/':
        left /= right;
        break;
      default:
        left %= right;
    }
  }
  return left;
}

Operand Reader::number(bool negative) {
  Operand out;
  out.at = token_.at;
  out.value = token_.value;
  switch (token_.kind) {
    case Token::Kind::kInteger:
      out.kind = Operand::Kind::kInteger;
      if (negative) out.value = -out.value;
      break;
    case Token::Kind::kSingle:
      out.kind = Operand::Kind::kSingle;
      if (negative) out.value ^= std::uint64_t{1} << 31;
      break;
    case Token::Kind::kDouble:
      out.kind = Operand::Kind::kDouble;
      if (negative) out.value ^= std::uint64_t{1} << 63;
      break;
    default:
      fail("expected a number");
  }
  advance();
  if (out.kind == Operand::Kind::kInteger) out.value = rest(out.value, 1);
  return out;
}

void Reader::parts(Operand& out, std::string_view end, int depth) {
  advance();
  while (good() && !at(end)) {
    out.parts.push_back(operand(depth + 1));
    if (!at(end)) expect(",");
  }
  expect(end);
}

Operand Reader::operand(int depth) {
  Operand out;
  out.at = token_.at;
  if (depth > kDeepest) return fail("operands that are nested too deeply"), out;
  if (at("{") || (at("(") && has_lists_)) {
    out.kind = Operand::Kind::kVector;
    parts(out, at("{") ? "}" : ")", depth);
    return out;
  }
  if (at("[")) {
    parts(out, "]", depth);
    if (out.parts.size() != 1) {
      out.kind = Operand::Kind::kVector;  // an operand of a texture instruction, for example
      return out;
    }
    Operand inner = std::move(out.parts.front());
    const bool plain = (inner.kind == Operand::Kind::kName && !inner.negated) ||
                       inner.kind == Operand::Kind::kInteger;
    if (!plain && good()) fail("expected an address");
    inner.kind = Operand::Kind::kAddress;
    return inner;
  }
  const bool negative = at("-");
  if (negative) advance();
  if (at("(") || (!negative && at("~"))) {
    const std::uint64_t first = primary(0);
    out.kind = Operand::Kind::kInteger;
    out.value = rest(negative ? -first : first, 1);
    return out;
  }
  if (negative || token_.kind != Token::Kind::kWord) {
    if (!at("!")) return number(negative);
    advance();
    out.negated = true;
  }
  out.name = name();
  out.value = offset();
  if (at("|")) {
    advance();
    Operand second;
    second.at = token_.at;
    second.name = name();
    Operand first = std::move(out);
    out = Operand{};
    out.kind = Operand::Kind::kPair;
    out.at = first.at;
    out.parts = {std::move(first), std::move(second)};
  }
  return out;
}

}  // namespace cuvmm::kernels
