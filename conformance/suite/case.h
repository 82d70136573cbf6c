// SPDX-License-Identifier: Apache-2.0
// A conformance case: a short program, the rules that it breaks, and what it needs of the machine.
// The format is described in docs/cases.md.
#pragma once

#include <string>
#include <vector>

#include "program/program.h"

namespace cuvmm::conformance {

using program::Program;
using program::Statement;

/// What a case may ask of a machine.
struct Machine {
  int devices = 0;
  bool fabric_channel = false;  ///< an IMEX channel is there
  bool multicast = false;       ///< what can make or use a multicast team reaches the driver
};

struct Need {
  enum class What : std::uint8_t { kDevices, kFabricChannel, kMulticast };
  What what = What::kDevices;
  bool at_least = false;  ///< `>=` instead of `=`
  int number = 0;
  friend bool operator==(const Need&, const Need&) = default;
};

struct Case {
  std::string name;                 ///< "reserve/size-0"
  std::vector<std::string> breaks;  ///< ids of rules; empty for a legal case
  std::vector<Need> needs;
  Program program;
  std::string file;
  int line = 0;  ///< of the `case` line
};

/// Adds what the case's calls need of a machine without saying so: `multicast` for those of
/// api/multicast.h.
void add_implied_needs(Case& test_case);

/// Why the machine cannot run the case: "needs devices>=2, there is 1"; "" when it can. A case that
/// needs exactly so many devices can be run where there are more: see devices_to_show().
std::string unmet_need(const Case& test_case, const Machine& machine);

/// How many of the machine's devices the case may see where it needs exactly so many; 0: all.
int devices_to_show(const Case& test_case, const Machine& machine);

/// What the statement must answer: its comment's code, or SUCCESS where it states none.
CUresult expected_result(const Statement& statement);

struct ParsedCases {
  std::vector<Case> cases;
  std::vector<std::string> errors;  ///< "FILE:LINE:COLUMN: expected ..., found ..."
};

/// Reads the text of one file; every mistake is reported, and the rest is read all the same.
ParsedCases parse_cases(std::string_view text, const std::string& file);
/// Reads files, and all *.cuvmm of folders, in the order of their names.
ParsedCases load_cases(const std::vector<std::string>& paths);

}  // namespace cuvmm::conformance
