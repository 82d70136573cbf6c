// SPDX-License-Identifier: Apache-2.0
// cuvmm conform: runs the conformance suite on a libcuda, and prints the answers that differ from
// the documentation.
#include <stdlib.h>

#include <memory>

#include "api/posix/whole_file.h"
#include "conformance/record/derive_profile.h"
#include "conformance/record/measure_profile.h"
#include "conformance/run/conform.h"
#include "conformance/run/conform_report.h"
#include "conformance/suite/suite.h"
#include "rulebook/base/limits.h"
#include "tools/base/atomic_file.h"
#include "tools/base/standard_streams.h"
#include "tools/command_line/commands.h"
#include "tools/command_line/usage.h"
#include "tools/conform/results_text.h"
#include "tools/installation/driver_choice.h"
#include "tools/installation/layout.h"
#include "tools/run/loader_path.h"

namespace cuvmm::tools {

using conformance::Case;
using conformance::CaseResult;
using conformance::CaseStatus;
using conformance::CaseWaivers;
using conformance::conform_json;
using conformance::conform_junit;
using conformance::derive_profile;
using conformance::DerivedProfile;
using conformance::fails_run;
using conformance::format_recording;
using conformance::judge_cases;
using conformance::known_facts;
using conformance::known_profile;
using conformance::KnownFacts;
using conformance::load_suite;
using conformance::matches_pattern;
using conformance::measure_profile;
using conformance::record_cases;
using conformance::Recording;
using conformance::RecordOptions;
using conformance::RecordResult;
using conformance::Suite;

namespace {

struct ConformSettings {
  std::string driver;
  bool emulate = false;
  std::string emulated_profile;
  int devices = 0;
  std::string filter;
  std::string cases;
  bool pairs = false;
  bool list = false;
  std::string junit;
  std::string json;
  std::string recording;
  std::string profile;
  std::string waivers;
  bool strict = false;
  bool known = false;
  bool require_feature = false;
  bool isolated = false;
  bool allow_multicast = false;
  bool verbose = false;
  int jobs = 8;
  double timeout_s = 20;
};

int failed(const std::string& message) {
  print_error("cuvmm conform: {}\n", message);
  return kExitFailure;
}

bool write(const std::string& path, const std::string& text) {
  if (path.empty()) return true;
  const std::string error = write_whole(path, text);
  if (!error.empty()) failed(error);
  return error.empty();
}

// The path of the driver to run on. For the emulator, also sets its environment; `libraries` then
// holds the links to it, and must live until the cases have run.
std::string driver_path(const ConformSettings& settings, std::unique_ptr<LoaderPath>& libraries,
                        std::string& error) {
  if (!settings.driver.empty()) return settings.driver;
  if (!settings.emulate) {
    if (!find_driver().empty()) return "libcuda.so.1";
    error =
        "there is no CUDA driver here (libcuda.so.1 was not found): name one with --driver, or use "
        "--emulate";
    return "";
  }
  if (!settings.emulated_profile.empty())
    setenv("CUVMM_PROFILE", settings.emulated_profile.c_str(), 1);
  const LayoutResult layout = find_layout(own_folder());
  error = layout.error;
  if (!error.empty()) return "";
  libraries = std::make_unique<LoaderPath>(layout.layout);
  error = libraries->error();
  return libraries->layout().emulator;
}

int print_summary(const std::vector<CaseResult>& results, const ConformSettings& settings) {
  const auto counts = count(results);
  const auto number = [&](CaseStatus status) { return counts[static_cast<std::size_t>(status)]; };
  int bad = 0, known = 0, unexpected_passes = 0;
  for (const CaseResult& result : results) {
    const bool differs = result.status == CaseStatus::kDeviation ||
                         result.status == CaseStatus::kCrash ||
                         result.status == CaseStatus::kTimeout;
    const bool news = settings.known && differs && !result.known;
    bad += news || fails_run(result, settings.strict);
    known += result.known && result.status != CaseStatus::kPass;
    unexpected_passes += result.unexpected_pass;
  }
  if (unexpected_passes)
    print_output("{} waived cases pass: remove their waivers\n", unexpected_passes);
  if (settings.require_feature && number(CaseStatus::kNotSupported))
    print_output("--require-feature: {} cases could not run\n", number(CaseStatus::kNotSupported));
  print_output(
      "{} passed, {} failed, {} deviations, {} crashed, {} timed out, {} not supported, {} waived "
      "({} of the deviations and crashes are known of this driver)\n",
      number(CaseStatus::kPass), number(CaseStatus::kFail), number(CaseStatus::kDeviation),
      number(CaseStatus::kCrash), number(CaseStatus::kTimeout), number(CaseStatus::kNotSupported),
      number(CaseStatus::kWaived), known);
  bad += settings.require_feature ? number(CaseStatus::kNotSupported) : 0;
  return bad ? kExitDifference : 0;
}

std::string profile_name(const std::string& path) {
  std::string stem = path.substr(path.find_last_of('/') + 1);
  return stem.substr(0, stem.rfind(".toml"));
}

// Derives a profile from a recording. The recording must have all pairs, which show the order of a
// driver's checks, and all cases of one rule, so no filter may be set.
std::string derived_profile(const Suite& suite, const Recording& recording,
                            const ConformSettings& settings, const std::string& path) {
  const LoadedDriver loaded = load_driver(path);
  const Profile base = load_profile("documented").profile;
  const Profile measured =
      measure_profile(loaded.driver, recording, base, profile_name(settings.profile));
  DerivedProfile derived = derive_profile(measured, suite.families, suite.cases, recording);
  if (settings.verbose) {
    for (const std::string& note : derived.notes) print_output("profile: {}\n", note);
  }
  return format_profile(derived.profile);
}

int conform(const ConformSettings& settings) {
  // Checked before the cases run, because they take a while.
  for (const std::string* file :
       {&settings.json, &settings.junit, &settings.recording, &settings.profile}) {
    const std::string problem = file->empty() ? "" : cannot_write(*file);
    if (!problem.empty()) return failed(*file + ": " + problem);
  }
  Suite suite = load_suite(settings.cases, settings.pairs || !settings.profile.empty());
  for (const std::string& error : suite.errors) print_error("{}\n", error);
  if (!suite.errors.empty()) return kExitUsage;
  if (!settings.filter.empty()) {
    std::erase_if(suite.cases,
                  [&](const Case& c) { return !matches_pattern(settings.filter, c.name); });
    if (suite.cases.empty())
      throw UsageError{"--filter: no case has a name that matches '" + settings.filter + "'"};
  }
  if (settings.list) {
    for (const Case& each : suite.cases) print_output("{}\n", each.name);
    return 0;
  }
  CaseWaivers waivers;
  if (!settings.waivers.empty()) {
    const WholeFile file = whole_file(settings.waivers);
    if (!file.error.empty()) throw UsageError{settings.waivers + ": " + file.error};
    if (std::string error = waivers.parse(file.text, settings.waivers); !error.empty())
      throw UsageError{std::move(error)};
  }
  if (settings.devices) setenv("CUVMM_DEVICES", std::to_string(settings.devices).c_str(), 1);
  std::string error;
  std::unique_ptr<LoaderPath> libraries;
  const std::string path = driver_path(settings, libraries, error);
  if (!error.empty()) return failed(error);

  RecordOptions options;
  options.share = !settings.isolated;
  options.jobs = settings.jobs;
  options.allow_multicast = settings.allow_multicast;
  options.run.timeout = std::chrono::milliseconds(static_cast<long>(settings.timeout_s * 1000));
  std::map<std::string, std::string> stderr_texts;
  options.stderr_texts = &stderr_texts;
  const RecordResult run = record_cases(path, suite.cases, options);
  if (!run.error.empty()) return failed(run.error);
  const std::optional<Profile> known = known_profile(run.recording);
  const KnownFacts facts = known_facts(known ? known->driver : "");
  const auto results =
      judge_cases({&suite.cases, &run.recording, known ? &*known : nullptr, &waivers, &facts});

  print_output("driver {}{}, version {}, CUDA {}\ngpu {}, {} device(s)\n", run.recording.driver,
               run.recording.emulated ? " (emulator)" : "",
               run.recording.driver_version.empty() ? "?" : run.recording.driver_version,
               run.recording.cuda_version, run.recording.gpu, run.recording.devices);
  print_output("{}", results_text(results, run.recording,
                                  {settings.verbose, known ? known->gpu : "", &stderr_texts}));
  bool written = write(settings.json, conform_json(run.recording, results)) &&
                 write(settings.junit, conform_junit(run.recording, results, settings.strict)) &&
                 write(settings.recording, format_recording(run.recording));
  if (!settings.profile.empty())
    written &= write(settings.profile, derived_profile(suite, run.recording, settings, path));
  const int code = print_summary(results, settings);
  return written ? code : kExitFailure;
}

constexpr const char* kExamples =
    "Statuses:\n"
    "  pass           every call answers as documented\n"
    "  deviation      a call that breaks a rule does not answer the documented code\n"
    "  crash, timeout the process died in a call, or a call did not return\n"
    "  fail           a legal call is refused, or a value is wrong\n"
    "  not-supported  the machine lacks what the case needs\n"
    "  waived         the case is named in --waivers\n"
    "Exits with 1 for a fail, and for a crash or timeout of a legal call; with --strict also for\n"
    "every deviation, crash and timeout, with --known for those that are not known.\n"
    "Examples:\n"
    "  cuvmm conform                                       this machine's driver\n"
    "  cuvmm conform --emulate=documented --strict         the emulator\n"
    "  cuvmm conform --pairs --json h200.json --profile h200.toml\n";

}  // namespace

void add_conform(CLI::App& app, CommandLine& line) {
  CLI::App* command =
      app.add_subcommand("conform", "Say where a driver differs from the documentation");
  auto s = std::make_shared<ConformSettings>();
  const auto file = [&](const char* option, std::string& target, const char* help) {
    command->add_option(option, target, help)->type_name("FILE");
  };
  command->add_option("--driver", s->driver, "Run on this libcuda")
      ->type_name("PATH")
      ->transform(driver_library());
  add_emulate(*command, s->emulated_profile,
              "Run on the emulator; PROFILE is a built-in profile or a TOML file");
  command
      ->add_option("--devices", s->devices,
                   "Number of devices of the emulator, 1 to " + std::to_string(kMaxDevices))
      ->type_name("N")
      ->check(whole_number(1, kMaxDevices));
  command
      ->add_option("--filter", s->filter,
                   "Run only the cases whose names match, such as 'cuMemMap/*'")
      ->type_name("GLOB");
  command->add_option("--cases", s->cases, "Use the suite in this folder, not the built-in one")
      ->type_name("DIR")
      ->check(CLI::ExistingDirectory.description(""));
  command->add_flag("--pairs", s->pairs, "Also run the calls that break two rules");
  command->add_flag("--list", s->list, "Print the names of the cases and run nothing");
  file("--junit", s->junit, "Write the results as JUnit XML");
  file("--json", s->json, "Write the results with their evidence as JSON");
  file("--recording", s->recording,
       "Write the answers alone, as conformance/unpack writes those of real drivers");
  file("--profile", s->profile, "Write a driver profile for the emulator; implies --pairs");
  command->add_option("--waivers", s->waivers, "Known failures, one NAME REASON per line")
      ->type_name("FILE")
      ->check(readable_file());
  command->add_flag("--strict", s->strict, "Fail on deviations, crashes and timeouts too");
  command->add_flag("--known", s->known, "Fail on those of them that are not known of this driver");
  command->add_flag("--require-feature", s->require_feature,
                    "Fail on cases that the machine cannot run");
  command->add_flag("--isolated", s->isolated, "Run each case in a process of its own");
  command->add_flag(
      "--allow-multicast", s->allow_multicast,
      "Let multicast (cuMulticast*, cuLogicalEndpoint*, cuFabricCpy*) reach a real driver (it can "
      "disturb other users of the fabric)");
  command->add_flag("--verbose", s->verbose,
                    "Also print the cases that pass, and known deviations");
  command->add_option("--jobs", s->jobs, "Number of cases to run at a time")
      ->type_name("N")
      ->check(whole_number(1, 256))
      ->capture_default_str();
  command->add_option("--timeout", s->timeout_s, "Time limit of one call, in seconds")
      ->type_name("SECONDS")
      ->check(seconds(0.001))
      ->capture_default_str();
  command->footer(kExamples);
  command->allow_extras();
  command->callback([command, s, &line] {
    refuse_unexpected(*command);
    s->emulate = command->count("--emulate") > 0;
    if (s->emulate && !s->driver.empty())
      throw UsageError{"--emulate and --driver exclude each other"};
    if (!s->profile.empty() && !s->filter.empty())
      throw UsageError{"--profile needs the whole suite: it and --filter exclude each other"};
    s->emulated_profile = resolve_profile(s->emulated_profile);
    line.exit_code = conform(*s);
  });
}

}  // namespace cuvmm::tools
