// SPDX-License-Identifier: Apache-2.0
// Judges the objects of processes that ended without a last report: by a signal, by exec, or while
// their threads were running. The judgement uses two files that outlive the process: the objects
// that it showed (live/), and its last calls (ring/).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frames/suppressions.h"
#include "tools/report/process_report.h"
#include "tools/report/tree/process_tree.h"
#include "tools/run/ended/end_watch.h"

namespace cuvmm::tools {

/// The value of CUVMM_RUN. Processes write it into their files, so that this run finds its own.
std::string this_run();

struct LastStates {
  std::string live_folder;        ///< "" where the processes show no objects
  std::string last_calls_folder;  ///< "" where the processes record no calls
  frames::Suppressions suppressions;
  bool lists_in_use = false;  ///< --leak-check=full
};

/// Completes the reports of such processes: adds leaks to `judged`, calls where the report does not
/// count them, unfinished calls to `problems`, and to `leaks` whether leaks could be searched. The
/// reports of living processes stay as they are.
void judge_last_states(std::vector<ProcessReport>& reports, const LastStates& states,
                       const TreeResult& tree, const EndWatch& watch);

}  // namespace cuvmm::tools
