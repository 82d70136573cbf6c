// SPDX-License-Identifier: Apache-2.0
// A report in the format that a file's name asks for.
#pragma once

#include <string>

#include "tools/base/json.h"

namespace cuvmm::tools {

enum class ReportFormat { kJson, kHtml, kSarif, kJunit, kPerfetto, kSnapshot, kUnknown };

/// By the name's suffix: ".json", ".html", ".sarif", ".junit.xml", ".perfetto-trace",
/// ".snapshot.pickle". A name without a suffix (/dev/stdout) means JSON.
ReportFormat format_of(const std::string& path);

/// "its name must end in .json, ...", for messages.
std::string known_suffixes();

/// Whether the format shows memory over time, which a report has only when it was asked for.
bool wants_timeline(ReportFormat format);

/// The report of docs/report.md as this format has it. Throws UsageError where the report's
/// timeline is not as documented.
std::string render(const Json& report, ReportFormat format);

/// JSON for people and scripts: indented, but the timeline's rows.
std::string report_text(const Json& report);

}  // namespace cuvmm::tools
