// SPDX-License-Identifier: Apache-2.0
#include "tools/view/read_report.h"

#include <cerrno>
#include <cstring>

#include "api/posix/whole_file.h"
#include "tools/base/standard_streams.h"
#include "tools/command_line/usage.h"
#include "tools/report/process_report.h"

namespace cuvmm::tools {

Json read_report(const std::string& path) {
  const WholeFile file = whole_file(path);
  if (!file.error.empty()) throw UsageError{path + ": " + file.error};
  ProcessReport report = parse_process_report(file.text, path, ReportOf::kRun);
  if (!report.error.empty()) throw UsageError{report.error};
  for (const std::string& problem : report.problems) print_error("cuvmm: {}\n", problem);
  return std::move(report.value);
}

}  // namespace cuvmm::tools
