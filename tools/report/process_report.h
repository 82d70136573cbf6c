// SPDX-License-Identifier: Apache-2.0
// Reads the report of one process, and checks it against the contract in docs/report.md.
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
  Json value = nullptr;    ///< an object that fulfils the contract
  std::string error = {};  ///< "FILE: why it is no report"; empty on success
  /// True only with an error: the process began the file, so it used a driver, but the file has no
  /// whole report.
  bool lost = false;
  /// The process could not write its last report: an earlier one is in `value`, so findings are
  /// lost.
  bool last_lost = false;
  /// Tells who looked for leaks of the process.
  enum class Leaks {
    kReported,  ///< the process itself; or leaks were not to be looked for
    kJudged,    ///< `cuvmm run`, in the files that the process left when it ended
    kUnknown    ///< nobody
  };
  Leaks leaks = Leaks::kReported;
  std::string why_unknown = {};  ///< reason of kUnknown; "": not known
  bool exited = false;           ///< the process ended by itself, but wrote no last report
  Json judged = Json::array();   ///< findings of `cuvmm run` about the process's last state
  std::vector<std::string> in_flight = {};  ///< sentences about memory that may be no leak
  std::uint64_t perhaps_leaked = 0;  ///< objects of which nobody knows whether they are leaks
  std::string in_use_list = {};      ///< --leak-check=full: text about what it held when it ended
  std::size_t values = 0;            ///< JSON values in the report; read_reports() limits their sum
  /// The parts that were left out of `value`: "FILE: what is wrong".
  std::vector<std::string> problems = {};
  std::string image = {};       ///< of the process (api/posix/image_name.h), from the file's name
  bool calls_known = true;      ///< false: the process was killed, and its calls are unknown
  bool became_another = false;  ///< the process probably became another program through exec
};

/// Reads a file of one or more JSON objects, one after another; the last whole one is the report.
ProcessReport read_process_report(const std::string& path);

/// The same from text. Errors name `path`, whose file name gives the pid if the text has none.
ProcessReport parse_process_report(const std::string& text, const std::string& path,
                                   ReportOf of = ReportOf::kProcess);

}  // namespace cuvmm::tools
