// SPDX-License-Identifier: Apache-2.0
// Writes a report in the format that a file's suffix names.
#pragma once

#include <string>

#include "tools/base/json.h"

namespace cuvmm::tools {

enum class ReportFormat { kJson, kHtml, kSarif, kJunit, kPerfetto, kSnapshot, kUnknown };

/// The format of the name's suffix: ".json", ".html", ".sarif", ".junit.xml", ".perfetto-trace",
/// ".snapshot.pickle". A name without a suffix (/dev/stdout) means JSON.
ReportFormat format_of(const std::string& path);

/// "its name must end in .json, ...", for messages.
std::string known_suffixes();

/// Whether the format shows memory over time. A report has that only after `cuvmm run --timeline`,
/// or if `cuvmm run --report` names such a format.
bool wants_timeline(ReportFormat format);

/// The report (docs/report.md) in this format. Throws UsageError if the report's timeline is not as
/// documented.
std::string render(const Json& report, ReportFormat format);

/// JSON for people and scripts, indented except for the timeline's rows.
std::string report_text(const Json& report);

}  // namespace cuvmm::tools
