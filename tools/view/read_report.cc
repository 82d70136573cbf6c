// SPDX-License-Identifier: Apache-2.0
#include "tools/view/read_report.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "tools/base/standard_streams.h"
#include "tools/command_line/usage.h"
#include "tools/report/process_report.h"

namespace cuvmm::tools {

Json read_report(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw UsageError{path + ": " + std::strerror(errno)};
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) throw UsageError{path + ": it cannot be read"};
  ProcessReport report = parse_process_report(text, path, ReportOf::kRun);
  if (!report.error.empty()) throw UsageError{report.error};
  for (const std::string& problem : report.problems) print_error("cuvmm: {}\n", problem);
  return std::move(report.value);
}

}  // namespace cuvmm::tools
