// SPDX-License-Identifier: Apache-2.0
// A family: one legal call, and the ways to break it. Singles, near misses and pairs follow from
// it.
//
//   family cuMemMap                       # names the file's cases: cuMemMap/offset-zero
//   needs devices=2                       # optional; or cuda>=13040, a driver at least that new;
//                                         # or support: the legal call may answer NOT_SUPPORTED
//   given
//     init()
//     r0 = cuMemAddressReserve(size=4M)
//     h0 = cuMemCreate(2M, device=0)
//   call cuMemMap(ptr=r0, size=2M, offset=0, handle=h0, flags=0)
//   break cuMemMap-offset-zero: offset=2M
//   break cuMemMap-handle-alive: before cuMemRelease(h0)
//
// The call as written is legal and must succeed: it is the near miss of every rule. A `break`
// replaces arguments of the call by key, or puts a statement before the call, or both; `;`
// separates them. `instead CALL` replaces the whole call, where keys are not enough (prop=null); it
// makes no pairs. Two breaks that replace different arguments make a pair, which shows what a
// driver checks first.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "program/program.h"
#include "rulebook/catalogue/rule.h"

namespace cuvmm::conformance {

using program::Argument;
using program::ParseError;
using program::Program;
using program::Statement;

/// One way to break the call.
struct Break {
  Rule rule;
  /// Distinguishes several breaks of one rule, "" for the first.
  std::string variant;
  std::vector<Argument> replacements;  ///< by key
  std::vector<Statement> before;
  std::optional<Statement> instead;
};

struct Family {
  std::string name;
  int devices = 1;  ///< how many devices the family needs
  int cuda = 0;     ///< the oldest CUDA version whose driver can run it; 0: any
  /// Some devices cannot do this: such a device answers NOT_SUPPORTED to the legal call.
  bool optional = false;
  std::vector<Statement> given;
  Statement call;
  std::vector<Break> breaks;
};

/// One of the programs that a family expands to; its last statement is the call in question.
struct FamilyCase {
  std::string
      name;  ///< "cuMemMap/legal", "cuMemMap/offset-zero", "cuMemMap/flags-zero+offset-zero"
  int devices = 1;
  int cuda = 0;
  bool optional = false;
  std::vector<Rule> rules;  ///< the rules that the call breaks: none, one, or two
  Program program;
};

struct ParsedFamilies {
  std::vector<Family> families;
  std::vector<ParseError> errors;
};

/// Reads any number of families, and collects all mistakes with line and column.
ParsedFamilies parse_families(std::string_view text);

/// The legal call and every single break.
std::vector<FamilyCase> singles(const Family& family);
/// Every two breaks of different rules that can be combined.
std::vector<FamilyCase> pairs(const Family& family);

}  // namespace cuvmm::conformance
