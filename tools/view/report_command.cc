// SPDX-License-Identifier: Apache-2.0
// cuvmm report REPORT.json [--baseline OLD.json]: prints a report as text; fails if it has mistakes
// (with a baseline: new mistakes).
// cuvmm suppress REPORT.json: prints its findings as a file of suppressions.
#include <fmt/core.h>

#include <map>
#include <memory>

#include "tools/base/atomic_file.h"
#include "tools/base/standard_streams.h"
#include "tools/command_line/commands.h"
#include "tools/command_line/usage.h"
#include "tools/report/text/finding_text.h"
#include "tools/view/baseline.h"
#include "tools/view/read_report.h"

namespace cuvmm::tools {

namespace {

struct ReportOptions {
  std::string report, baseline;
  std::size_t limit = 10;
  int error_exitcode = kExitDifference;
};

// Prints a line for each finding that only the older report has.
void print_absent(const Json& report, std::size_t limit) {
  const Json& absent = list_in(report, "absent");
  for (std::size_t i = 0; i < absent.size() && i < limit; ++i) {
    const Json& finding = absent[i];
    const Json* const site = site_of(list_in(finding, "stack"));
    const std::string place = site ? " at " + frame_text(*site) : "";
    write_output(harmless(fmt::format("gone: {}: {} [{}]{}", text_in(finding, "kind"),
                                      text_in(finding, "call"), text_in(finding, "rule"), place)) +
                 "\n");
  }
  if (absent.size() > limit) print_output("and {} more are gone\n", absent.size() - limit);
}

int print_report(const ReportOptions& options) {
  Json report = read_report(options.report);
  const bool compares = !options.baseline.empty();
  Against against;
  if (compares) against = mark_against(report, read_report(options.baseline));
  std::map<std::string, std::size_t> shown;
  std::size_t mistakes = 0;
  for (const Json& finding : list_in(report, "findings")) {
    if (compares && text_in(finding, "baseline") != "new") continue;
    if (is_mistake(finding)) ++mistakes;
    const std::string kind = text_in(finding, "kind");
    if (kind == "answer" || number_in(finding, "handled") >= number_in(finding, "count")) continue;
    if (++shown[text_in(finding, "rule")] > options.limit) continue;
    write_output(finding_text(finding) + "\n");
  }
  for (const auto& [rule, count] : shown) {
    if (count > options.limit)
      print_output("{} more findings of {}\n", count - options.limit, rule);
  }
  if (compares) {
    print_absent(report, options.limit);
    print_output("{} new, {} as in the baseline, {} of the baseline are gone\n", against.fresh,
                 against.unchanged, against.absent);
  } else if (shown.empty()) {
    print_output("nothing was found\n");
  }
  return mistakes > 0 ? options.error_exitcode : 0;
}

// The text as a glob. Characters with a meaning in a suppression, such as `*` and blanks, become
// `?`.
std::string as_glob(const std::string& text) {
  std::string glob;
  for (const char c : text) {
    const bool plain = static_cast<unsigned char>(c) > 0x20 && c != 0x7f && c != '*' && c != '#';
    glob += plain ? c : '?';
  }
  return glob;
}

// A line for each pair of rule and function. The function is that of the finding's site_of().
std::string suppressions_of(const Json& report) {
  std::map<std::string, std::pair<std::string, std::uint64_t>> lines;  // line -> place and count
  for (const Json& finding : list_in(report, "findings")) {
    if (text_in(finding, "kind") == "answer") continue;
    const Json* stack = &list_in(finding, "stack");
    const Json& objects = list_in(finding, "objects");
    if (stack->empty() && !objects.empty()) stack = &list_in(objects.front(), "stack");
    const Json* const site = site_of(*stack);
    std::string line = "rule:" + text_in(finding, "rule");
    if (site) {
      const std::string function = text_in(*site, "function"), module = text_in(*site, "module");
      const std::string name = function.empty() ? module.substr(module.rfind('/') + 1) : function;
      if (!name.empty()) line += " function:" + as_glob(name);
    }
    auto& [place, count] = lines[line];
    if (place.empty() && site) place = harmless(frame_text(*site).substr(0, 200));
    count += number_in(finding, "count");
  }
  std::string text = "# Say why each entry is there, with the number of the bug.\n";
  for (const auto& [line, places] : lines) {
    std::string place = places.first;
    for (char& c : place) {
      if (c == '\n') c = '?';
    }
    text +=
        fmt::format("# {} times{}{}\n{}\n", places.second, place.empty() ? "" : ": ", place, line);
  }
  return text;
}

struct SuppressOptions {
  std::string report, output;
};

int suppress(const SuppressOptions& options) {
  const std::string text = suppressions_of(read_report(options.report));
  if (options.output.empty()) {
    write_output(text);
    return 0;
  }
  const std::string problem = write_whole(options.output, text);
  if (problem.empty()) return 0;
  print_error("cuvmm suppress: -o {}: {}\n", options.output, problem);
  return kExitFailure;
}

}  // namespace

void add_report(CLI::App& app, CommandLine& line) {
  CLI::App* command =
      app.add_subcommand("report", "Print a report; fail for findings that are new in it");
  auto options = std::make_shared<ReportOptions>();
  command->add_option("REPORT", options->report, "JSON of cuvmm run --report")
      ->required()
      ->type_name("");
  command
      ->add_option("--baseline", options->baseline,
                   "An older report: only findings that it has not are shown and fail")
      ->type_name("FILE");
  command->add_option("--limit", options->limit, "Findings of one rule that are printed")
      ->type_name("N");
  command
      ->add_option("--error-exitcode", options->error_exitcode,
                   "Exit with N if there are errors, undefined behaviour or leaks (default 1)")
      ->type_name("N")
      ->check(whole_number(0, 255));
  command->footer(
      "Examples:\n"
      "  cuvmm report report.json\n"
      "  cuvmm report report.json --baseline last-week.json    the findings that are new\n");
  command->allow_extras();
  command->callback([command, options, &line] {
    refuse_unexpected(*command);
    line.exit_code = print_report(*options);
  });
}

void add_suppress(CLI::App& app, CommandLine& line) {
  CLI::App* command =
      app.add_subcommand("suppress", "Write suppressions for the findings of a report");
  auto options = std::make_shared<SuppressOptions>();
  command->add_option("REPORT", options->report, "JSON of cuvmm run --report")
      ->required()
      ->type_name("");
  command->add_option("-o,--output", options->output, "Where to (default: standard output)")
      ->type_name("FILE");
  command->footer(
      "Examples:\n"
      "  cuvmm suppress report.json -o known.supp\n"
      "  cuvmm run --suppressions known.supp -- ./app\n");
  command->allow_extras();
  command->callback([command, options, &line] {
    refuse_unexpected(*command);
    line.exit_code = suppress(*options);
  });
}

}  // namespace cuvmm::tools
