// SPDX-License-Identifier: Apache-2.0
// A conformance case: a short program, the rules that it breaks, and its needs of the machine.
// docs/cases.md describes the format.
#pragma once

#include <string>
#include <vector>

#include "api/driver/driver.h"
#include "program/program.h"

namespace cuvmm::conformance {

using program::Program;
using program::Statement;

/// The properties of a machine that a case may need.
struct Machine {
  int devices = 0;
  bool fabric_channel = false;  ///< an IMEX channel exists
  bool multicast = false;       ///< calls that can make or use a multicast team reach the driver
  /// Calls that make managed memory reach the driver, which is the emulator.
  bool managed = false;
  int cuda = kAnyCuda;  ///< what cuDriverGetVersion answers
  /// The driver's functions; null: it has all. The driver outlives this object.
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
    kSupport  ///< of the driver, for the family's legal call; its answer decides, not the machine
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

/// Adds the needs that follow from the case's calls: `multicast` for calls of api/multicast.h,
/// `managed` for calls that make managed memory or a pool of it.
void add_implied_needs(Case& test_case);

/// Why the machine cannot run the case: "needs devices>=2, there is 1"; "" if it can. A driver that
/// lacks a function of the case cannot run it. A case that needs an exact number of devices can run
/// on a machine with more: see devices_to_show().
std::string unmet_need(const Case& test_case, const Machine& machine);

/// How many of the machine's devices a case with an exact need may see; 0: all.
int devices_to_show(const Case& test_case, const Machine& machine);

/// The code that the statement must answer: its comment's code, or SUCCESS if the comment has none.
CUresult expected_result(const Statement& statement);

struct ParsedCases {
  std::vector<Case> cases;
  std::vector<std::string> errors;  ///< "FILE:LINE:COLUMN: expected ..., found ..."
};

/// Reads the text of one file. Reports every mistake, and still reads the rest.
ParsedCases parse_cases(std::string_view text, const std::string& file);
/// Reads files, and all *.cuvmm in folders, in the order of their names.
ParsedCases load_cases(const std::vector<std::string>& paths);

}  // namespace cuvmm::conformance
