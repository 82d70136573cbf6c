// SPDX-License-Identifier: Apache-2.0
// Merges the reports of the processes of a tree into one.
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
  bool any() const { return errors || undefined || leaks; }  ///< decides about --error-exitcode
};

struct MergedReport {
  Json value;     ///< the whole report, as docs/report.md describes it
  Totals totals;  ///< occurrences, folded repeats included
  std::size_t processes = 0;
  std::vector<std::int64_t> unjudged;     ///< pids of processes whose leaks nobody could look for
  std::uint64_t perhaps_leaked = 0;       ///< objects of which nobody knows whether they are leaks
  std::vector<std::string> in_use_lists;  ///< of processes that could not print theirs
  bool calls_known = true;  ///< false: a process was killed, and its calls are unknown
  std::size_t unread = 0;   ///< reports that are lost or unreadable
  std::vector<std::string> without_shim;  ///< "71 (app)": processes that used a driver without it
  std::string first_rule;                 ///< of the first finding that is not advice; "": none
  /// Gaps of the report, and their reasons; also in value["notes"].
  std::vector<std::string> notes;
  /// The findings that no process has printed: those that need the reports of several processes,
  /// and those that `cuvmm run` judged from the files of an ended process.
  Json between = Json::array();
};

/// The ends of processes, as far as `cuvmm run` saw them.
struct Endings {
  std::map<std::int64_t, int> signals;  ///< by process: the signal that ended it
  bool left_running = false;            ///< some processes still ran when the reports were read
};

/// a + b, or 2^64 - 1 if the sum is larger. Counts from a process's file may be any number.
std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b);

/// "signal 9 (SIGKILL)".
std::string signal_text(int signal);

/// Sums the counts, and joins the findings (each with its "pid") and the lists, in the order of
/// `reports`. The driver is that of the first process that has one. The result's notes are `notes`,
/// and then a note for each thing that could not be read or that a report lacks.
MergedReport merge_reports(const std::vector<ProcessReport>& reports,
                           std::vector<std::string> notes = {}, const Endings& endings = {});

/// Reads every report in `folder`. The report of process `first` comes first, the others follow by
/// pid. A file whose name does not end in ".json" is one that a process had not finished writing:
/// the last whole object in it is the report, unless the file that it should replace is there.
std::vector<ProcessReport> read_reports(const std::string& folder, std::int64_t first);

}  // namespace cuvmm::tools
