// SPDX-License-Identifier: Apache-2.0
// cuvmm hostile: runs one program many times. In each run the emulator does other rare things that
// a driver is allowed to do.
#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tools/base/atomic_file.h"
#include "tools/base/standard_streams.h"
#include "tools/command_line/commands.h"
#include "tools/command_line/usage.h"
#include "tools/fail/judge.h"
#include "tools/fail/runner.h"
#include "tools/run/hostile_words.h"
#include "tools/run/run_options.h"

namespace cuvmm::tools {

namespace {

constexpr const char* kHostileExamples =
    "Examples:\n"
    "  cuvmm hostile -- ./test               the emulator, with 20 seeds\n"
    "  cuvmm hostile --seeds 200 -- ./test\n"
    "  cuvmm hostile --with left-contexts -- ./test  with this kind in each seed, which is in\n"
    "                                        none by itself: another library leaves its context\n"
    "  cuvmm run --emulate --hostile 7 -- ./test     what seed 7 did\n"
    "  cuvmm run --emulate --hostile 7:refusals -- ./test     one kind alone; this one, refused\n"
    "                                        memory, is in no seed by itself either\n"
    "The exit code is 0 if the program does the same with each seed, 1 if it does not, 125 when\n"
    "cuvmm itself failed.\n";

struct HostileSettings {
  RunSettings run;
  int seeds = 20;
  int first = 1;
  int jobs = 0;
  double timeout_s = 0;
  std::vector<std::string> with;  ///< kinds that each seed has beside its own
  std::string json;
};

// The difference between a run and the plain run; "" if there is none.
std::string difference(const Baseline& plain, const Outcome& outcome) {
  const Judgement judgement = judge(plain, outcome);
  if (judgement.verdict == Verdict::kClean && plain.output_known &&
      outcome.output != plain.output) {
    return "it prints something else";
  }
  if (judgement.verdict == Verdict::kClean) return "";
  return fmt::format("{}: {}", verdict_name(judgement.verdict), judgement.what);
}

class HostileRuns {
 public:
  explicit HostileRuns(const HostileSettings& settings) : settings_(settings) {
    at_once_ = settings.jobs > 0
                   ? settings.jobs
                   : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }

  int run() {
    if (!settings_.json.empty()) {
      if (const std::string problem = cannot_write(settings_.json); !problem.empty()) {
        print_error("cuvmm hostile: --json {}: {}\n", settings_.json, problem);
        return kExitFailure;
      }
    }
    if (const std::string problem = learn(); !problem.empty()) return trouble(problem);
    timeout_s_ = settings_.timeout_s > 0 ? settings_.timeout_s
                                         : std::max(10.0, 20 * plain_.seconds * at_once_);
    std::vector<std::string> hostile_values;
    for (int i = 0; i < settings_.seeds; ++i) {
      const auto seed = static_cast<std::uint64_t>(settings_.first) + static_cast<unsigned>(i);
      hostile_values.push_back(hostile_text(seed, kinds_of_seed_with(seed, settings_.with)));
    }
    const std::vector<std::string> found = differences(hostile_values);
    if (!problem_.empty()) return trouble(problem_);
    const auto first = std::ranges::find_if(found, [](const auto& text) { return !text.empty(); });
    if (!write_json(hostile_values, found)) return kExitFailure;
    if (first == found.end()) {
      print_output("{} seeds: the program does the same with each\n", settings_.seeds);
      return 0;
    }
    const std::size_t index = static_cast<std::size_t>(first - found.begin());
    explain(static_cast<std::uint64_t>(settings_.first) + index, hostile_values[index], *first);
    const auto others =
        std::ranges::count_if(found, [](const auto& text) { return !text.empty(); });
    print_output("{} of {} seeds differ\n", others, settings_.seeds);
    return kExitDifference;
  }

 private:
  static int trouble(const std::string& message) {
    print_error("cuvmm hostile: {}\n", message);
    return kExitFailure;
  }

  std::string learn() {
    constexpr int kTimes = 2;
    constexpr double kLongest = 3600;
    std::string problem;
    run_jobs(std::vector<Job>(kTimes, Job{settings_.run, {}}), 1, kLongest,
             [&](std::size_t, const Outcome& outcome) {
               if (!outcome.trouble.empty()) problem = "the plain run: " + outcome.trouble;
               if (outcome.timed_out) problem = "the program does not end by itself in time";
               plain_.add(outcome);
             });
    return problem;
  }

  // The difference of a run with each value of --hostile.
  std::vector<std::string> differences(const std::vector<std::string>& hostile_values) {
    std::vector<Job> jobs;
    for (const std::string& hostile_value : hostile_values) {
      Job job{settings_.run, {}};
      const Hostile hostile = read_hostile(hostile_value);
      job.run.hostile = hostile.emulator;
      job.run.streams = hostile.streams;
      jobs.push_back(std::move(job));
    }
    std::vector<std::string> found(hostile_values.size());
    run_jobs(jobs, at_once_, timeout_s_, [&](std::size_t job, const Outcome& outcome) {
      if (!outcome.trouble.empty()) problem_ = hostile_values[job] + ": " + outcome.trouble;
      found[job] = difference(plain_, outcome);
    });
    return found;
  }

  // Prints which kinds of the seed cause the difference alone.
  void explain(std::uint64_t seed, const std::string& hostile_value, const std::string& what) {
    const std::vector<std::string> kinds = kinds_of_seed_with(seed, settings_.with);
    std::vector<std::string> alone;
    for (const std::string& kind : kinds) alone.push_back(hostile_text(seed, {kind}));
    const std::vector<std::string> found = differences(alone);
    print_output("seed {} differs: {}\n", seed, what);
    std::string chosen = hostile_value;
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found[i].empty()) continue;
      print_output("  {} alone is enough: {}\n", kinds[i], found[i]);
      if (chosen == hostile_value) chosen = alone[i];
    }
    if (chosen == hostile_value)
      print_output("  none of its kinds alone is enough: {}\n", hostile_value);
    std::string line = "cuvmm run --emulate";
    if (!settings_.run.profile.empty()) line += "=" + settings_.run.profile;
    if (settings_.run.devices > 0) line += fmt::format(" --devices {}", settings_.run.devices);
    if (settings_.run.python) line += " --python";
    line += " --hostile " + chosen + " --";
    for (const std::string& word : settings_.run.command) line += " " + word;
    print_output("to see it: {}\n", line);
  }

  bool write_json(const std::vector<std::string>& hostile_values,
                  const std::vector<std::string>& found) {
    if (settings_.json.empty()) return true;
    Json seeds = Json::array();
    for (std::size_t i = 0; i < hostile_values.size(); ++i) {
      seeds.push_back({{"seed", static_cast<std::uint64_t>(settings_.first) + i},
                       {"choices", hostile_values[i]},
                       {"same", found[i].empty()},
                       {"what", found[i]}});
    }
    const Json json = {{"schema", 1}, {"program", settings_.run.command}, {"seeds", seeds}};
    const std::string problem = write_whole(
        settings_.json, json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
    if (!problem.empty()) print_error("cuvmm hostile: --json {}: {}\n", settings_.json, problem);
    return problem.empty();
  }

  const HostileSettings& settings_;
  int at_once_ = 1;
  double timeout_s_ = 0;
  Baseline plain_;
  std::string problem_;
};

// Options of `cuvmm run` that make no sense for many runs on the emulator.
constexpr const char* kRefused[] = {
    "--driver", "--hostile", "--streams",      "--report",         "--trace",
    "--ring",   "--live",    "--leaks-signal", "--error-exitcode", "--allow-unchecked"};

}  // namespace

void add_hostile(CLI::App& app, CommandLine& line) {
  CLI::App* command =
      app.add_subcommand("hostile", "Run a program on an emulator as unkind as a driver may be");
  auto settings = std::make_shared<HostileSettings>();
  auto emulate = std::make_shared<std::string>();
  auto with = std::make_shared<std::string>();
  command->add_option("--seeds", settings->seeds, "How many seeds to try (default: 20)")
      ->type_name("N")
      ->check(whole_number(1, 1'000'000));
  command->add_option("--first", settings->first, "The first seed (default: 1)")
      ->type_name("N")
      ->check(whole_number(0, 1'000'000'000));
  command->add_option("--jobs", settings->jobs, "Runs at a time (default: one per core)")
      ->type_name("N")
      ->check(whole_number(1, 1024));
  command
      ->add_option("--timeout", settings->timeout_s,
                   "How long a run may take before it counts as hanging (default: 20 times as long "
                   "as the plain one, at least 10)")
      ->type_name("SECONDS")
      ->check(seconds(0.1));
  command->add_option("--with", *with, "Further kinds of hostile behaviour for each seed")
      ->type_name("KINDS");
  command->add_option("--json", settings->json, "Write the results as JSON")->type_name("FILE");
  add_run_options(*command, settings->run, *emulate);
  for (const char* option : kRefused) command->get_option(option)->group("");
  command->footer(kHostileExamples);
  command->callback([command, settings, emulate, with, &line] {
    settings->with = read_kinds("--with " + *with, *with);
    take_run_options(settings->run, *command, *emulate, line);
    for (const char* option : kRefused) {
      if (command->count(option) > 0) {
        throw UsageError{std::string(option) +
                         " has no meaning here: the emulator is run, with "
                         "many seeds"};
      }
    }
    settings->run.emulate = true;
    line.exit_code = HostileRuns(*settings).run();
  });
}

}  // namespace cuvmm::tools
