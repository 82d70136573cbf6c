// SPDX-License-Identifier: Apache-2.0
// The traces of a process tree. Each process records into a file of its own.
#pragma once

#include <string>
#include <vector>

namespace cuvmm::tools {

/// A name with %p, so that no process overwrites another's trace: `file` itself if it holds %p,
/// else a name in the same folder that no earlier run used.
std::string trace_pattern(const std::string& file);

/// Called after the run. Deletes traces without calls. A single remaining trace becomes `file`;
/// several become `file`.PID, or NAME.PID.jsonl. Returns the files, sorted by name. `pattern` is
/// trace_pattern(file).
std::vector<std::string> collect_traces(const std::string& file, const std::string& pattern);

}  // namespace cuvmm::tools
