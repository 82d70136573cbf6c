// One report for a process tree, from those that its processes left.
#pragma once

#include <string>
#include <vector>

#include "tools/process_report.h"

namespace cuvmm {

struct Totals {
  std::uint64_t errors = 0;
  std::uint64_t undefined = 0;
  std::uint64_t leaks = 0;
  std::uint64_t advice = 0;
  bool any() const { return errors || undefined || leaks; }  ///< what --error-exitcode asks
};

struct MergedReport {
  Json value;     ///< the whole report, as docs/report.md describes it
  Totals totals;  ///< occurrences, folded repeats included
  std::size_t processes = 0;
  std::string first_rule;          ///< of the first finding that is not advice, "" when none
  std::vector<std::string> notes;  ///< what is missing and why; also in value["notes"]
};

/// Sums counts, joins findings (each with its "pid") and lists; the driver is that of the first
/// process that has one. Reports that could not be read become notes. Order: as given.
MergedReport merge_reports(const std::vector<ProcessReport>& reports,
                           std::vector<std::string> notes = {});

/// Every report in `folder`, that of process `first` before the others, these by pid. Files that
/// are still being written (names that do not end in ".json") are notes as well.
std::vector<ProcessReport> read_reports(const std::string& folder, std::int64_t first);

}  // namespace cuvmm
