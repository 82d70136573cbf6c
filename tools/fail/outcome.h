// SPDX-License-Identifier: Apache-2.0
// The outcome of one run of the program: its end, its findings, and the memory that it still held.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/base/json.h"

namespace cuvmm::tools {

/// A count of equal things, by kind and place.
struct Tally {
  std::uint64_t count = 0;
  std::string text;  ///< for people: names the thing and its place
};

/// The log of one process (shim/fail/fail_log.h).
struct ProcessLog {
  std::int64_t pid = 0;
  bool died = false;      ///< a signal ended it
  bool returned = false;  ///< main() returned
  std::uint64_t injections = 0, calls_after = 0;
  bool gave_up = false;  ///< a call that cuvmm made fail would have ended an object
  Json sites = Json::array();
  std::map<std::string, Tally> left;           ///< by kind and place
  std::map<std::string, std::uint64_t> kinds;  ///< number of objects left, by kind

  /// Whether the process ended right after a failure, by exit() or without a further call. The
  /// system frees the memory of such a process, so it counts as no leak.
  bool ended_at_once() const { return !returned || (injections != 0 && calls_after == 0); }
};

struct Outcome {
  std::string trouble;  ///< cuvmm itself failed; else empty
  bool timed_out = false;
  int exit_code = 0;
  int signal = 0;  ///< the signal of a crash in one of the processes; 0: none
  double seconds = 0;
  std::string output;                     ///< the program's text on stdout
  std::map<std::string, Tally> findings;  ///< errors and undefined behaviour, by rule and place
  /// Leaks, by process, then by rule and place.
  std::map<std::int64_t, std::map<std::string, Tally>> leaks;
  std::vector<ProcessLog> logs;

  std::uint64_t injections() const;
};

/// "grow() at cache.cc:41", from the innermost frame that is the program's; "" if there is none.
std::string place_text(const Json& stack);

/// Adds the findings of a merged report to `outcome`.
void add_report(Outcome& outcome, const Json& report);
void add_log(Outcome& outcome, const Json& log);

}  // namespace cuvmm::tools
