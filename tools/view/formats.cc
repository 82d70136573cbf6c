// SPDX-License-Identifier: Apache-2.0
#include "tools/view/formats.h"

#include <array>
#include <string_view>
#include <utility>

#include "tools/view/junit.h"
#include "tools/view/page/page.h"
#include "tools/view/perfetto.h"
#include "tools/view/sarif.h"
#include "tools/view/snapshot.h"

namespace cuvmm::tools {

namespace {

constexpr std::array<std::pair<std::string_view, ReportFormat>, 6> kSuffixes{{
    {".json", ReportFormat::kJson},
    {".html", ReportFormat::kHtml},
    {".sarif", ReportFormat::kSarif},
    {".junit.xml", ReportFormat::kJunit},
    {".perfetto-trace", ReportFormat::kPerfetto},
    {".snapshot.pickle", ReportFormat::kSnapshot},
}};

std::string dumped(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

ReportFormat format_of(const std::string& path) {
  for (const auto& [suffix, format] : kSuffixes) {
    if (path.ends_with(suffix)) return format;
  }
  const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
  return name.find('.') == std::string_view::npos ? ReportFormat::kJson : ReportFormat::kUnknown;
}

std::string known_suffixes() {
  std::string list;
  for (std::size_t i = 0; i < kSuffixes.size(); ++i) {
    list += i == 0 ? "" : i + 1 == kSuffixes.size() ? " or " : ", ";
    list += kSuffixes[i].first;
  }
  return "its name must end in " + list;
}

bool wants_timeline(ReportFormat format) {
  return format == ReportFormat::kHtml || format == ReportFormat::kPerfetto ||
         format == ReportFormat::kSnapshot;
}

std::string report_text(const Json& report) {
  const auto timeline = report.find("timeline");
  if (timeline == report.end()) return dumped(report, 1) + "\n";
  Json rest = report;
  rest.erase("timeline");
  std::string text = dumped(rest, 1);
  text.resize(text.size() - 2);  // "\n}"
  return text + ",\n \"timeline\": " + dumped(*timeline, -1) + "\n}\n";
}

std::string render(const Json& report, ReportFormat format) {
  switch (format) {
    case ReportFormat::kHtml:
      return page_of(report);
    case ReportFormat::kSarif:
      return sarif_of(report);
    case ReportFormat::kJunit:
      return junit_of(report);
    case ReportFormat::kPerfetto:
      return perfetto_of(report);
    case ReportFormat::kSnapshot:
      return snapshot_of(report);
    case ReportFormat::kJson:
    case ReportFormat::kUnknown:
      break;
  }
  return report_text(report);
}

}  // namespace cuvmm::tools
