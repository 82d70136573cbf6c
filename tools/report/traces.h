// SPDX-License-Identifier: Apache-2.0
// One trace per process: each process of a tree records into a file of its own.
#pragma once

#include <string>
#include <vector>

namespace cuvmm::tools {

/// The name to record under so that no process overwrites another's trace: `file` itself when it
/// holds %p, else a name beside it that no earlier run used.
std::string trace_pattern(const std::string& file);

/// After the run: drops traces without calls; a single one that is left becomes `file`, several
/// become `file`.PID, or NAME.PID.jsonl. Returns the files, in order of their names. `pattern` is
/// trace_pattern(file).
std::vector<std::string> collect_traces(const std::string& file, const std::string& pattern);

}  // namespace cuvmm::tools
