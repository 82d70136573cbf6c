// SPDX-License-Identifier: Apache-2.0
// Fuzzes reports of processes: any bytes are safe to read and merge.
#include <string>

#include "tools/report/report_merge.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cuvmm;
  using namespace cuvmm::tools;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const ProcessReport report = parse_process_report(text, "12-x.json");
  if (report.error.empty()) (void)merge_reports({report, report});
  return 0;
}
