// SPDX-License-Identifier: Apache-2.0
#include "kernels/check/roles.h"

#include <algorithm>
#include <iterator>

namespace cuvmm::kernels {

namespace {

// A letter for each operand. T, U: a value of the first or the second type in the opcode; W: of
// twice the width of T; 4: of 32 bits; L, M: at least as wide as T or U; P: a
// predicate; ?: anything.
struct Known {
  std::string_view base;
  std::string_view operands;
};
constexpr Known kKnown[] = {
    {"abs", "TT"},       {"add", "TTT"},   {"addc", "TTT"},  {"and", "TTT"},  {"bfe", "TT44"},
    {"bfi", "TTT44"},    {"bfind", "4T"},  {"brev", "TT"},   {"clz", "4T"},   {"cnot", "TT"},
    {"copysign", "TTT"}, {"cos", "TT"},    {"cvt", "LM"},    {"div", "TTT"},  {"ex2", "TT"},
    {"fma", "TTTT"},     {"ld", "L"},      {"ldu", "L"},     {"lg2", "TT"},   {"lop3", "TTTT"},
    {"mad", "TTTT"},     {"madc", "TTTT"}, {"max", "TTT"},   {"min", "TTT"},  {"mov", "TT"},
    {"mul", "TTT"},      {"neg", "TT"},    {"not", "TT"},    {"or", "TTT"},   {"popc", "4T"},
    {"prmt", "4444"},    {"rcp", "TT"},    {"rem", "TTT"},   {"rsqrt", "TT"}, {"sad", "TTTT"},
    {"selp", "TTTP"},    {"set", "TUU"},   {"setp", "PTT"},  {"shf", "4444"}, {"shl", "TT4"},
    {"shr", "TT4"},      {"sin", "TT"},    {"slct", "TTTU"}, {"sqrt", "TT"},  {"st", "?L"},
    {"sub", "TTT"},      {"subc", "TTT"},  {"tanh", "TT"},   {"testp", "PT"}, {"xor", "TTT"},
};

struct Found {
  std::vector<Type> types;
  bool wide = false, packed = false;
};

Found read(std::string_view opcode) {
  Found found;
  for (std::size_t dot = opcode.find('.'); dot != opcode.npos;) {
    const std::size_t begin = dot + 1;
    dot = opcode.find('.', begin);
    const std::string_view word = opcode.substr(begin, dot == opcode.npos ? dot : dot - begin);
    if (const Type type = type_named(word); type != Type::kNone) found.types.push_back(type);
    found.wide |= word == "wide";
    // Conversions of several numbers in a register.
    found.packed |= word == "pack" || word.ends_with("x2") || word.ends_with("x4");
  }
  return found;
}

Type twice(Type type) {
  switch (type) {
    case Type::kS16:
      return Type::kS32;
    case Type::kU16:
      return Type::kU32;
    case Type::kS32:
      return Type::kS64;
    case Type::kU32:
      return Type::kU64;
    default:
      return Type::kNone;
  }
}

Role role(char letter, const Found& modifiers) {
  const auto type = [&](std::size_t index) {
    return index < modifiers.types.size() ? modifiers.types[index] : Type::kNone;
  };
  Role out;
  switch (letter) {
    case 'T':
      out = {Role::Kind::kValue, type(0)};
      break;
    case 'U':
      out = {Role::Kind::kValue, type(1)};
      break;
    case 'W':
      out = {Role::Kind::kValue, twice(type(0))};
      break;
    case '4':
      out = {Role::Kind::kBits, Type::kB32};
      break;
    case 'L':
      out = {Role::Kind::kAtLeast, type(0)};
      break;
    case 'M':
      out = {Role::Kind::kAtLeast, type(1)};
      break;
    case 'P':
      return {Role::Kind::kPredicate, Type::kPred};
    default:
      return {};
  }
  if (out.type == Type::kPred) return {Role::Kind::kPredicate, Type::kPred};
  return out.type == Type::kNone || out.type == Type::kB128 ? Role{} : out;
}

// Integers of a type without a sign, or with one, are the same to an instruction.
bool alike(Type a, Type b) {
  const auto bits_only = [](Type type) { return type >= Type::kB8 && type <= Type::kB128; };
  return bits_only(a) || bits_only(b) || is_float(a) == is_float(b);
}

}  // namespace

std::vector<Role> roles_of(std::string_view opcode) {
  const std::string_view base = opcode.substr(0, opcode.find('.'));
  const auto* const known = std::ranges::find(kKnown, base, &Known::base);
  if (known == std::end(kKnown)) return {};
  const Found modifiers = read(opcode);
  if (base == "cvt" && modifiers.packed) return {};
  std::string_view operands = known->operands;
  if (modifiers.wide) operands = base == "mul" ? "WTT" : base == "mad" ? "WTTW" : "";
  std::vector<Role> roles;
  for (const char letter : operands) roles.push_back(role(letter, modifiers));
  return roles;
}

bool fits(const Role& role, Type declared) {
  if (role.kind == Role::Kind::kAny || declared == Type::kNone) return true;
  if ((role.kind == Role::Kind::kPredicate) != (declared == Type::kPred)) return false;
  const unsigned has = bytes_of(declared), wants = bytes_of(role.type);
  switch (role.kind) {
    case Role::Kind::kValue:
      return has == wants && alike(declared, role.type);
    case Role::Kind::kBits:
      return has == wants;
    case Role::Kind::kAtLeast:
      return has >= wants && alike(declared, role.type);
    default:
      return true;
  }
}

}  // namespace cuvmm::kernels
