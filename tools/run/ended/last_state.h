// SPDX-License-Identifier: Apache-2.0
// What a process held when it ended without a last word: by a signal, by exec, or while its threads
// were at work. It is judged from what the process showed to others (live/) and from its last calls
// (ring/), which both outlive it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frames/suppressions.h"
#include "tools/report/process_report.h"
#include "tools/report/tree/process_tree.h"
#include "tools/run/ended/end_watch.h"

namespace cuvmm::tools {

/// How processes know for whom they leave what they held: the value of CUVMM_RUN.
std::string this_run();

struct LastStates {
  std::string live_folder;  ///< "" where the processes show nothing
  std::string ring_folder;  ///< "" where they keep no calls
  frames::Suppressions suppressions;
};

/// Completes the reports of such processes: leaks in `judged`, calls where they are not counted,
/// what was in flight in `problems`, and in `leaks` whether they could be looked for. Reports of
/// processes that live stay as they are.
void judge_last_states(std::vector<ProcessReport>& reports, const LastStates& states,
                       const TreeResult& tree, const EndWatch& watch);

}  // namespace cuvmm::tools
