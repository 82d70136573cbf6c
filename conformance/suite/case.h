// SPDX-License-Identifier: Apache-2.0
// A conformance case: a short program, the rules that it breaks, and what it needs of the machine.
// The format is described in docs/cases.md.
#pragma once

#include <string>
#include <vector>

#include "api/driver/driver.h"
#include "program/program.h"

namespace cuvmm::conformance {

using program::Program;
using program::Statement;

/// What a case may ask of a machine.
struct Machine {
  int devices = 0;
  bool fabric_channel = false;  ///< an IMEX channel is there
  bool multicast = false;       ///< what can make or use a multicast team reaches the driver
  bool managed = false;         ///< so does what makes managed memory: it is the emulator
  int cuda = kAnyCuda;          ///< what cuDriverGetVersion answers
  /// What functions it has; null: all of them. It outlives this.
  const Driver* driver = nullptr;
  static constexpr int kAnyCuda = 1 << 20;
};

struct Need {
  enum class What : std::uint8_t {
    kDevices,
    kFabricChannel,
    kMulticast,
    kManaged,
    kCuda,
    kSupport  ///< by the driver, of the family's legal call; its answer tells, not the machine
  };
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
/// api/multicast.h, `managed` for those that make managed memory or a pool of it.
void add_implied_needs(Case& test_case);

/// Why the machine cannot run the case: "needs devices>=2, there is 1"; "" when it can. A driver
/// that is older than a function that the case calls cannot. A case that needs exactly so many
/// devices can be run where there are more: see devices_to_show().
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
