// SPDX-License-Identifier: Apache-2.0
// What one run of the program left behind: its end, its findings, what it still had.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/base/json.h"

namespace cuvmm::tools {

/// Something that is counted, by kind and place.
struct Tally {
  std::uint64_t count = 0;
  std::string text;  ///< for people: what it is, and where
};

/// The log of one process (shim/fail/fail_log.h).
struct ProcessLog {
  std::int64_t pid = 0;
  bool died = false;      ///< a signal ended it
  bool returned = false;  ///< main() returned
  std::uint64_t injections = 0, calls_after = 0;
  bool gave_up = false;  ///< a call that was made to fail was to end something
  Json sites = Json::array();
  std::map<std::string, Tally> left;           ///< by kind and place
  std::map<std::string, std::uint64_t> kinds;  ///< how many are left of a kind

  /// It was told of a failure and ended without another look at its memory: by exit(), or without
  /// a further call. What it had then is the system's to clear.
  bool ended_at_once() const { return !returned || (injections != 0 && calls_after == 0); }
};

struct Outcome {
  std::string trouble;  ///< cuvmm itself failed; else empty
  bool timed_out = false;
  int exit_code = 0;
  int signal = 0;  ///< that ended one of the processes as a crash does; 0 none
  double seconds = 0;
  std::string output;                     ///< what the program wrote to stdout
  std::map<std::string, Tally> findings;  ///< errors and undefined behaviour, by rule and place
  std::map<std::int64_t, std::map<std::string, Tally>> leaks;  ///< the same of leaks, by process
  std::vector<ProcessLog> logs;

  std::uint64_t injections() const;
};

/// "grow() at cache.cc:41", of the innermost frame that is the program's; "" where there is none.
std::string place_text(const Json& stack);

/// Adds what is in a merged report, and what is in a log.
void add_report(Outcome& outcome, const Json& report);
void add_log(Outcome& outcome, const Json& log);

}  // namespace cuvmm::tools
