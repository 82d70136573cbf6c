// SPDX-License-Identifier: Apache-2.0
#include "tools/timeline/run_timeline.h"

#include <algorithm>

#include "tools/timeline/timeline_file.h"

namespace cuvmm::tools {

std::vector<std::string> add_timelines(Json& report, const std::string& folder,
                                       const std::vector<ProcessReport>& processes) {
  ReadTimelines read = read_timelines(folder);
  for (ProcessTimeline& one : read.processes) {
    const auto own = std::find_if(processes.begin(), processes.end(), [&](const auto& process) {
      return process.pid == one.pid && process.error.empty() && process.value.contains("stacks");
    });
    if (own != processes.end()) {
      one.stacks = own->value["stacks"];
    } else {
      read.notes.push_back("process " + std::to_string(one.pid) +
                           ": its timeline has no stacks, because they are made readable when a "
                           "process exits, and this one was killed");
    }
  }
  report["timeline"] = timeline_json(read.processes);
  for (const std::string& note : read.notes) report["notes"].push_back(note);
  return std::move(read.notes);
}

}  // namespace cuvmm::tools
