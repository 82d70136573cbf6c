// SPDX-License-Identifier: Apache-2.0
// cuvmm view REPORT.json -o FILE: a report in another format.
#include <memory>

#include "tools/base/atomic_file.h"
#include "tools/base/standard_streams.h"
#include "tools/command_line/commands.h"
#include "tools/command_line/usage.h"
#include "tools/view/baseline.h"
#include "tools/view/formats.h"
#include "tools/view/read_report.h"

namespace cuvmm::tools {

namespace {

struct ViewOptions {
  std::string report, baseline;
  std::vector<std::string> outputs;
};

int write_views(const ViewOptions& options) {
  for (const std::string& file : options.outputs) {
    if (format_of(file) == ReportFormat::kUnknown) {
      throw UsageError{"-o " + file + ": " + known_suffixes()};
    }
  }
  Json report = read_report(options.report);
  if (!options.baseline.empty()) mark_against(report, read_report(options.baseline));
  for (const std::string& file : options.outputs) {
    const ReportFormat format = format_of(file);
    if (wants_timeline(format) && !report.contains("timeline") && format != ReportFormat::kHtml) {
      throw UsageError{options.report +
                       " has no timeline, which this format shows: record one with cuvmm run "
                       "--timeline --report FILE.json"};
    }
    const std::string problem = write_whole(file, render(report, format));
    if (problem.empty()) continue;
    print_error("cuvmm view: -o {}: {}\n", file, problem);
    return kExitFailure;
  }
  return 0;
}

}  // namespace

void add_view(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand("view", "Show a report as a page, or in other formats");
  auto options = std::make_shared<ViewOptions>();
  command->add_option("REPORT", options->report, "JSON of cuvmm run --report")
      ->required()
      ->type_name("");
  command
      ->add_option("-o,--output", options->outputs,
                   "Where to; the format is that of the name's end: .html, .sarif, .junit.xml, "
                   ".perfetto-trace, .snapshot.pickle or .json; may be given several times")
      ->required()
      ->type_name("FILE")
      ->take_all()
      ->allow_extra_args(false);
  command
      ->add_option("--baseline", options->baseline,
                   "An older report: findings say whether they are new")
      ->type_name("FILE");
  command->footer(
      "Examples:\n"
      "  cuvmm view report.json -o report.html\n"
      "  cuvmm view report.json --baseline last-week.json -o report.sarif\n");
  command->allow_extras();
  command->callback([command, options, &line] {
    refuse_unexpected(*command);
    line.exit_code = write_views(*options);
  });
}

}  // namespace cuvmm::tools
