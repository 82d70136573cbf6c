// SPDX-License-Identifier: Apache-2.0
// The report that one process left: read, and checked against the contract in docs/report.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/base/json.h"
#include "tools/report/report_contract.h"

namespace cuvmm::tools {

inline constexpr int kReportSchema = 1;
/// Bytes; a larger file is refused, so that a runaway process cannot exhaust the runner's memory.
inline constexpr std::uint64_t kLargestReport = std::uint64_t{256} << 20;

struct ProcessReport {
  std::int64_t pid = 0;    ///< from the report, else from the file's name "<pid>-<unique>.json"
  Json value = nullptr;    ///< an object that holds to the contract
  std::string error = {};  ///< "FILE: why it is no report"; empty on success
  /// With an error: the file was begun, so the process used a driver, and nothing of it is whole.
  bool lost = false;
  /// Whether somebody looked for what the process leaks.
  enum class Leaks {
    kTold,    ///< the process itself, or nobody asked
    kJudged,  ///< `cuvmm run`, in what the process left when it ended
    kUnknown
  };
  Leaks leaks = Leaks::kTold;
  std::string why_unknown = {};  ///< "" where nobody knows
  bool exited = false;           ///< it ended by itself, though its report is not its last
  Json judged = Json::array();   ///< findings that the process itself could not tell
  std::vector<std::string> in_flight = {};  ///< sentences: what is no leak, as far as is known
  std::size_t values = 0;  ///< JSON values in it, for who adds up what reports take
  /// What was left out of it: "FILE: what is wrong".
  std::vector<std::string> problems = {};
  std::string image = {};       ///< of the process (api/posix/image_name.h), from the file's name
  bool calls_known = true;      ///< false: it was killed, and nobody knows which calls it made
  bool became_another = false;  ///< by exec, for all that is known
};

/// Reads a file of one or more JSON objects, one after another; the last whole one is the report.
ProcessReport read_process_report(const std::string& path);

/// The same from text; `path` names it in errors and gives the pid.
ProcessReport parse_process_report(const std::string& text, const std::string& path,
                                   ReportOf of = ReportOf::kProcess);

}  // namespace cuvmm::tools
