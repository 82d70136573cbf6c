// SPDX-License-Identifier: Apache-2.0
// One report for a process tree, from those that its processes left.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tools/report/process_report.h"

namespace cuvmm::tools {

struct Totals {
  std::uint64_t errors = 0;
  std::uint64_t undefined = 0;
  std::uint64_t leaks = 0;
  std::uint64_t advice =
      0;  ///< without that about calls after which the program got what it wanted
  bool any() const { return errors || undefined || leaks; }  ///< what --error-exitcode asks
};

struct MergedReport {
  Json value;     ///< the whole report, as docs/report.md describes it
  Totals totals;  ///< occurrences, folded repeats included
  std::size_t processes = 0;
  std::vector<std::int64_t> unjudged;  ///< processes whose leaks nobody could look for
  bool calls_known = true;  ///< false: of some process that was killed, nobody knows them
  std::size_t unread = 0;   ///< reports that are lost, or are none
  std::vector<std::string> without_shim;  ///< "71 (app)": processes that used a driver without it
  std::string first_rule;                 ///< of the first finding that is not advice, "" when none
  std::vector<std::string> notes;         ///< what is missing and why; also in value["notes"]
  /// Those of the findings that no process has told: that only several processes together show, or
  /// that are judged from what an ended process left.
  Json between = Json::array();
};

/// What the runner knows of how processes ended.
struct Endings {
  std::map<std::int64_t, int> signals;  ///< by process: the signal that ended it
  bool left_running = false;            ///< some had not ended when the reports were read
};

/// Counts come from other processes: at most 2^64 - 1, and never less than either.
std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b);

/// "signal 9 (SIGKILL)".
std::string signal_text(int signal);

/// Sums counts, joins findings (each with its "pid") and lists; the driver is that of the first
/// process that has one. What could not be read, or never got into a report, becomes a note behind
/// `notes`. Order: as given.
MergedReport merge_reports(const std::vector<ProcessReport>& reports,
                           std::vector<std::string> notes = {}, const Endings& endings = {});

/// Every report in `folder`, that of process `first` before the others, these by pid. Of a file
/// that was still being written (its name does not end in ".json") what is whole counts, unless the
/// process left another one in its place.
std::vector<ProcessReport> read_reports(const std::string& folder, std::int64_t first);

}  // namespace cuvmm::tools
