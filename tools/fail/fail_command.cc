// SPDX-License-Identifier: Apache-2.0
// cuvmm fail: its command line.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>

#include "injected_failures/spec.h"
#include "tools/command_line/commands.h"
#include "tools/command_line/suggest.h"
#include "tools/command_line/usage.h"
#include "tools/fail/campaign.h"
#include "tools/run/run.h"
#include "tools/run/run_options.h"

namespace cuvmm::tools {

namespace {

constexpr const char* kFailExamples =
    "Examples:\n"
    "  cuvmm fail --each --emulate -- ./test            each call site fails, once and for good\n"
    "  cuvmm fail --each --json f.json -- ./test        the same, for scripts\n"
    "  cuvmm fail --fail cuMemCreate@3 -- ./test        one run, in which the third call fails\n"
    "  cuvmm fail --fail 'cuMem*[chance=0.01,seed=7]=OUT_OF_MEMORY' -- ./test\n"
    "With --each, the exit code is 0 if all sites are clean or handled, 1 if one is not, 125 when\n"
    "cuvmm itself failed. Without it, it is that of cuvmm run.\n";

void add_campaign_options(CLI::App& app, CampaignSettings& settings, bool& each) {
  app.add_flag("--each", each,
               "Run the program again and again: each place that calls the driver fails once, and "
               "fails always");
  app.add_flag("--all", settings.all, "With --each: each call of each place, not the first alone");
  app.add_option("--calls", settings.calls,
                 "With --each: only functions with these names, e.g. 'cuMemMap' or 'cuMem*'")
      ->type_name("PATTERN")
      ->delimiter(',')
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--jobs", settings.jobs, "With --each: runs at a time (default: one per core)")
      ->type_name("N")
      ->check(whole_number(1, 1024));
  app.add_option("--timeout", settings.timeout_s,
                 "With --each: how long a run may take before it counts as hanging (default: 20 "
                 "times as long as the plain one, at least 10)")
      ->type_name("SECONDS")
      ->check(seconds(0.1));
  app.add_option("--plain-exit", settings.plain_exit,
                 "With --each: the program's exit code where no call fails (default: 0)")
      ->type_name("CODE")
      ->check(whole_number(0, 255));
  app.add_option("--json", settings.json, "With --each: write the results as JSON")
      ->type_name("FILE");
  app.add_option("--junit", settings.junit, "With --each: write the results as JUnit XML")
      ->type_name("FILE");
  app.add_option("--resume", settings.resume,
                 "With --each: keep the results in this file, and go on from there if it exists")
      ->type_name("FILE");
  app.add_flag("--minimise", settings.minimise,
               "With --each: where a place is bad only if it fails always, find how often it must");
  app.add_flag("--fork-server", settings.fork_server,
               "With --each: start the program once, up to its cuInit or cuvmm_fork_point(), and "
               "fork it there for each run");
}

// Refuses options of `cuvmm run` that make sense for one run only.
void check_each(const CLI::App& app, const CampaignSettings& settings) {
  for (const char* option : {"--fail", "--report", "--trace", "--ring", "--live", "--leaks-signal",
                             "--error-exitcode", "--skipped-exitcode", "--allow-unchecked"}) {
    if (app.count(option) > 0) {
      throw UsageError{std::string(option) + " is for one run, and --each makes many"};
    }
  }
  for (const std::string& pattern : settings.calls) {
    const std::vector<std::string> known = injected_failures::fallible_functions();
    bool found = false;
    for (const std::string& name : known)
      found = found || injected_failures::matches(pattern, name);
    if (!found) {
      throw UsageError{"--calls " + pattern + ": cuvmm intercepts no such function" +
                       did_you_mean(pattern, known)};
    }
  }
}

void check_one(const CLI::App& app, const RunSettings& run) {
  for (const char* option : {"--all", "--calls", "--jobs", "--timeout", "--plain-exit", "--json",
                             "--junit", "--resume", "--minimise", "--fork-server"}) {
    if (app.count(option) > 0) throw UsageError{std::string(option) + " needs --each"};
  }
  if (run.fail.empty()) {
    throw UsageError{
        "which calls should fail? Expected --each, or --fail SPEC such as "
        "cuMemCreate@3=OUT_OF_MEMORY"};
  }
}

}  // namespace

void add_fail(CLI::App& app, CommandLine& line) {
  CLI::App* command =
      app.add_subcommand("fail", "Make calls of a program fail, and see what it does");
  auto settings = std::make_shared<CampaignSettings>();
  auto emulate = std::make_shared<std::string>();
  auto each = std::make_shared<bool>(false);
  add_campaign_options(*command, *settings, *each);
  add_run_options(*command, settings->run, *emulate);
  command->get_option("--fail")->group("Options");
  command->footer(kFailExamples);
  command->callback([command, settings, emulate, each, &line] {
    take_run_options(settings->run, *command, *emulate, line);
    if (*each) {
      check_each(*command, *settings);
      line.exit_code = run_campaign(*settings);
    } else {
      check_one(*command, settings->run);
      line.exit_code = run(std::move(settings->run));
    }
  });
}

}  // namespace cuvmm::tools
