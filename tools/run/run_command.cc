// SPDX-License-Identifier: Apache-2.0
// cuvmm run: its command line.
#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string_view>

#include "api/driver/driver.h"
#include "api/kernel_report.h"
#include "api/posix/whole_file.h"
#include "frames/suppression_text.h"
#include "injected_failures/spec.h"
#include "rulebook/base/limits.h"
#include "tools/command_line/commands.h"
#include "tools/command_line/help_formatter.h"
#include "tools/command_line/suggest.h"
#include "tools/command_line/usage.h"
#include "tools/report/blame/own_code.h"
#include "tools/run/hostile_words.h"
#include "tools/run/run.h"
#include "tools/run/run_options.h"

namespace cuvmm::tools {

namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  cuvmm run -- ./app --its-own options\n"
    "  cuvmm run --emulate --devices 2 -- ./app         no GPU needed\n"
    "  cuvmm run --report r.json --error-exitcode 9 -- python3 test.py\n"
    "  cuvmm run --enforce --leak-check=full -- ./app   forbidden calls fail instead of crashing\n"
    "The exit code is the program's (128 + N when signal N ended it), N of --error-exitcode when "
    "there\n"
    "are findings, 122 when with --error-exitcode something was not checked, 126 or 127 when the "
    "program cannot be started, 125 when cuvmm itself failed.\n";

// Writes the program into the usage line, because CLI11 does not know that one follows the options.
class RunFormatter : public HelpFormatter {
 public:
  std::string make_usage(const CLI::App* app, std::string) const override {
    return "Usage: cuvmm " + app->get_name() + " [OPTIONS] -- PROGRAM [ARGUMENTS]\n";
  }
};

std::string absolute(const std::string& path) {
  return path.empty() ? path : std::filesystem::absolute(path).lexically_normal().string();
}

// The words of a variable that is a list like PATH.
std::vector<std::string> words_of(const char* variable) {
  const char* const value = std::getenv(variable);
  std::vector<std::string> words;
  std::istringstream text(value ? value : "");
  for (std::string word; std::getline(text, word, ':');) {
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

// "OUT_OF_MEMORY" and the like, as --fail takes them.
std::vector<std::string> error_names() {
  constexpr std::string_view kPrefix = "CUDA_ERROR_";
  constexpr int kUnknown = CUDA_ERROR_UNKNOWN;  // the largest code
  std::vector<std::string> names;
  for (int code = 1; code <= kUnknown; ++code) {
    const std::string name = result_name(static_cast<CUresult>(code));
    if (name.starts_with(kPrefix)) names.push_back(name.substr(kPrefix.size()));
  }
  return names;
}

// A signal that has no fixed meaning, as the shim takes it (shim/settings/options.cc).
CLI::Validator free_signal() {
  return CLI::Validator(
      [](std::string& word) -> std::string {
        const std::string name = word.starts_with("SIG") ? word.substr(3) : word;
        if (name == "USR1" || name == "USR2") return "";
        int number = 0;
        const char* const end = name.data() + name.size();
        const auto [stop, error] = std::from_chars(name.data(), end, number);
        if (error == std::errc{} && stop == end && number >= SIGRTMIN && number <= SIGRTMAX) {
          return "";
        }
        return "'" + word + "' is not USR1, USR2 or the number of a real-time signal";
      },
      "");
}

// Joins all values of --fail. Throws UsageError, which names a mistake's column in its value.
std::string checked_spec(const std::vector<std::string>& specs) {
  std::string all;
  for (const std::string& text : specs) {
    const injected_failures::Spec spec = injected_failures::parse_spec(text);
    if (spec.error) {
      const std::string& word = spec.error->word;
      throw UsageError{"--fail '" + text + "', column " + std::to_string(spec.error->column) +
                       ": " + spec.error->message +
                       did_you_mean(word, word.starts_with("cu")
                                              ? injected_failures::fallible_functions()
                                              : error_names())};
    }
    all += (all.empty() ? "" : ",") + text;
  }
  return all;
}

CLI::Validator what_to_do_with_kernels() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        if (text == "run" || text == "skip" || parse_kernel_checks(text)) return "";
        return "expected run, skip, check, or check: and some of memory,init,race,sync";
      },
      "");
}

CLI::Validator when_streams_work() {
  return CLI::Validator(
      [](std::string& word) -> std::string {
        constexpr std::string_view kSeeded = "late:";
        if (word == "eager" || word == "late") return "";
        if (word.starts_with(kSeeded)) {
          std::uint64_t seed = 0;
          const char* const end = word.data() + word.size();
          const auto [stop, error] = std::from_chars(word.data() + kSeeded.size(), end, seed);
          if (error == std::errc{} && stop == end) return "";
        }
        return "'" + word + "' is not eager, late or late:SEED";
      },
      "");
}

// Throws UsageError if the file has a line that the shim cannot understand. The shim would skip
// such a line, so the user must learn of the mistake before the program runs.
void check_suppressions(const char* from, const std::string& file) {
  if (file.empty()) return;
  const WholeFile read = whole_file(file);
  if (!read.error.empty()) throw UsageError{fmt::format("{} {}: {}", from, file, read.error)};
  std::string message;
  for (const std::string& error : frames::read_suppressions(read.text).errors)
    message += (message.empty() ? "" : "\n") + file + ":" + error;
  if (!message.empty()) throw UsageError{message};
}

void take_command(RunSettings& options, const CLI::App& app, const CommandLine& line) {
  options.command = app.remaining();
  if (!options.command.empty() && options.command[0].size() > 1 && options.command[0][0] == '-') {
    throw UsageError{unexpected(app)};
  }
  if (!options.command.empty() && line.separator) {
    // `run --emulate h200 -- ./app`: the user meant `h200` as the value of --emulate.
    const std::string& word = options.command[0];
    if (const std::string meant = profile_meant(word); app.count("--emulate") > 0 && !meant.empty())
      throw UsageError{"unexpected argument " + word + "; did you mean --emulate=" + meant + "?"};
    options.command.push_back("--");  // the separator belongs to the program's arguments
  }
  options.command.insert(options.command.end(), line.after_separator.begin(),
                         line.after_separator.end());
  if (options.command.empty()) {
    throw UsageError{"no program given; expected `cuvmm " + app.get_name() +
                     " [options] -- PROGRAM [arguments]`"};
  }
}

// Options for the driver below the program, and for its answers.
void add_driver_options(CLI::App& app, RunSettings& options, std::string& emulate) {
  add_emulate(app, emulate, "Use the emulator; PROFILE is a built-in profile or a TOML file");
  app.add_option("--devices", options.devices,
                 "Devices that the emulator has, 1 to " + std::to_string(kMaxDevices))
      ->type_name("N")
      ->check(whole_number(1, kMaxDevices));
  app.add_option("--streams", options.streams,
                 "When the emulator's streams work: at once, or as late as calls allow it, so that "
                 "work in flight is found (docs/work-in-flight.md)")
      ->type_name("eager|late[:SEED]")
      ->check(when_streams_work());
  app.add_option("--kernels", options.kernels,
                 "Run or skip the emulator's kernels, or run them and check what they read and "
                 "write: memory, init, race, sync, or all (docs/testing/kernels-check.md)")
      ->type_name("run|skip|check[:LIST]")
      ->check(what_to_do_with_kernels());
  app.add_option("--hostile", options.hostile,
                 "Make the emulator do what a driver may do and seldom does (cuvmm hostile); only "
                 "on request: SEED:refusals, SEED:left-contexts")
      ->type_name("SEED[:KINDS]");
  app.add_option("--driver", options.driver, "Use this libcuda")
      ->type_name("PATH")
      ->transform(driver_library());
  app.add_option("--report", options.reports,
                 "Write the findings; the format is that of the name's end: .json, .html, .sarif, "
                 ".junit.xml, .perfetto-trace or .snapshot.pickle; may be given several times")
      ->type_name("FILE")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--error-exitcode", options.error_exitcode,
                 "Exit with N if there is an error, undefined behaviour or a leak")
      ->type_name("N")
      ->check(whole_number(1, 255));
  app.add_option(
         "--blame", options.blame,
         "For --error-exitcode, count only findings of code in this file, folder or object; "
         "may be given several times (docs/findings.md)")
      ->type_name("PATH|NAME")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option(
         "--skipped-exitcode", options.skipped_exitcode,
         "Exit with N if the program succeeds but launched kernels that the emulator skipped; 0 "
         "takes that for a success, with --error-exitcode too")
      ->type_name("N")
      ->check(whole_number(0, 255));
  app.add_flag("--allow-unchecked", options.allow_unchecked,
               "With --error-exitcode: take a run for a success in which nothing was checked, "
               "kernels were skipped, or calls went past cuvmm (else it exits with " +
                   std::to_string(kExitUnchecked) + ")");
  app.add_flag("--python", options.python,
               "Make Python's cuda.bindings.runtime use the emulator's libcudart (with --emulate)");
  app.add_option(
         "--torch", options.torch,
         "PyTorch's CUDA operators on the emulator: the CPU computes them (the default), or "
         "they are skipped (docs/testing/pytorch.md)")
      ->type_name("compute|skip")
      ->check(one_of({"compute", "skip"}));
  app.add_flag("--enforce", options.enforce,
               "Answer forbidden calls with the documented code instead of forwarding them");
  app.add_option(
         "--fail", options.fails,
         "Make these calls fail, e.g. cuMemCreate@3=OUT_OF_MEMORY (docs/testing/fail.md); may be "
         "given several times")
      ->type_name("SPEC")
      ->take_all()
      ->allow_extra_args(false);
  app.add_flag("--guard", options.guard,
               "Reserve more than is asked for, so that nothing is mapped on both sides of a "
               "reservation (docs/testing/guards.md)");
  app.add_option("--quarantine", options.quarantine,
                 "Keep the last N freed ranges from being reserved again")
      ->type_name("N")
      ->check(whole_number(1, 1000000));
  app.add_flag("--poison", options.poison,
               "Fill new memory with a pattern, and memory that ends with another");
}

// Options for the mistakes that cuvmm looks for, and for the records of the run.
void add_search_options(CLI::App& app, RunSettings& options) {
  app.add_option("--suppressions", options.suppressions,
                 "Leave out the findings that this file names")
      ->type_name("FILE")
      ->check(readable_file());
  app.add_option("--leak-check", options.leak_check,
                 "Leaks at exit: count them (summary), also places that never free and memory that "
                 "only its "
                 "context's end freed, and list what is still in use (full), or skip")
      ->check(one_of({"summary", "full", "no"}))
      ->type_name("summary|full|no");
  app.add_option("--async", options.async,
                 "Work that still uses memory which is taken away: ask its stream (observed), put "
                 "an event behind all work (exact), or do not follow work")
      ->check(one_of({"off", "observed", "exact"}))
      ->type_name("off|observed|exact");
  app.add_flag(
      "--unordered", options.unordered,
      "Also find uses that no call orders, even if the work had ended in time (--async=exact "
      "always does)");
  app.add_option(
         "--nvtx-include", options.nvtx_include,
         "Only findings in NVTX ranges of such a name, e.g. 'decode*'; may be given several times")
      ->type_name("GLOB")
      ->take_all()
      ->allow_extra_args(false);
  app.add_flag("--no-nvtx", options.no_nvtx,
               "Do not look at the program's NVTX ranges and names of memory");
  app.add_option("--trace", options.trace,
                 "Record the calls as program text, or, if the name ends in .jsonl, as lines of "
                 "JSON; a file "
                 "each if several processes make calls")
      ->type_name("FILE");
  app.add_option(
         "--trace-calls", options.trace_calls,
         "Lines of JSON only of these functions, e.g. 'cuMem*Map*'; may be given several times")
      ->type_name("GLOB")
      ->take_all()
      ->allow_extra_args(false);
  app.add_flag("--trace-errors", options.trace_errors,
               "Lines of JSON only of calls that did not succeed");
  app.add_flag(
      "--timeline", options.timeline,
      "Put each event of memory, with its time, into the report (.html, .perfetto-trace and "
      ".snapshot.pickle always have the events)");
  app.add_option(
         "--ring", options.ring,
         "Folder in which each process leaves its last calls (cuvmm explain-crash); without "
         "it, only processes that crash leave them, in a temporary folder")
      ->type_name("DIR");
  app.add_option(
         "--leaks-signal", options.leaks_signal,
         "At this signal a process prints its leaks after its next call about memory (cuvmm leaks "
         "shows them without a signal)")
      ->check(free_signal())
      ->type_name("USR1|USR2|N");
  app.add_option("--live", options.live,
                 "Folder in which each process lists its objects for cuvmm top, map and leaks "
                 "(default: a folder of the user). off: no process lists them")
      ->type_name("DIR|off");
}

// Options for the printed text.
void add_text_options(CLI::App& app, RunSettings& options) {
  app.add_flag("--no-python-frames", options.no_python_frames,
               "Stacks show the interpreter of a Python program, not the program's functions");
  app.add_option("--stack-depth", options.stack_depth,
                 "Frames that are kept of each call's stack, 1 to 48 (default: 48)")
      ->type_name("N")
      ->check(whole_number(1, 48));
  app.add_flag("--no-symbols", options.no_symbols,
               "Stacks show modules, offsets and exported functions: no symbols are read");
  app.add_flag("--debuginfod", options.debuginfod,
               "Debug information may come from the servers in DEBUGINFOD_URLS");
  app.add_option("--color", options.color,
                 "Colours in the text; auto: on a terminal, unless NO_COLOR is set")
      ->check(one_of({"auto", "always", "never"}))
      ->type_name("auto|always|never");
  app.add_option("--limit", options.limit,
                 "Print at most N findings of a rule in each process, 0: all (default: 10 on a "
                 "terminal, else all); reports and counts have all")
      ->type_name("N")
      ->check(whole_number(0, 1000000));
  app.add_flag("--quiet", options.quiet, "Print nothing but errors of cuvmm itself");
  app.add_flag(
      "--verbose", options.verbose,
      "Also print answers and handled advice, which are quiet by default (docs/findings.md)");
  app.add_flag(
      "--allow-multicast", options.allow_multicast,
      "Let multicast (cuMulticast*, cuLogicalEndpoint*, cuFabricCpy*) reach a real driver (it can "
      "disturb other users of the fabric)");
  app.add_option("--wait", options.wait,
                 "Seconds to wait for processes that outlive the program (default: until they end)")
      ->type_name("SECONDS")
      ->check(seconds(0));
}

struct Heading {
  const char* text;
  std::vector<const char*> options;
};

// In the order of the options.
const std::vector<Heading>& headings() {
  static const std::vector<Heading> all = {
      {"Driver",
       {"--emulate", "--devices", "--streams", "--kernels", "--hostile", "--driver", "--python",
        "--torch", "--allow-multicast"}},
      {"Checks",
       {"--suppressions", "--leak-check", "--async", "--unordered", "--nvtx-include", "--no-nvtx"}},
      {"Exit code", {"--error-exitcode", "--blame", "--skipped-exitcode", "--allow-unchecked"}},
      {"Trouble on purpose", {"--enforce", "--fail", "--guard", "--quarantine", "--poison"}},
      {"Files",
       {"--report", "--trace", "--trace-calls", "--trace-errors", "--timeline", "--ring",
        "--leaks-signal", "--live"}},
      {"Text",
       {"--no-python-frames", "--stack-depth", "--no-symbols", "--debuginfod", "--color", "--limit",
        "--quiet", "--verbose"}}};
  return all;
}

// Other commands that run programs put all options of `cuvmm run` under one heading, because the
// help of those commands describes their own options first.
void put_under_headings(CLI::App& app) {
  const bool is_run = app.get_name() == "run";
  for (const Heading& heading : headings()) {
    for (const char* name : heading.options)
      app.get_option(name)->group(is_run ? heading.text : kRunsOptions);
  }
  if (!is_run) app.get_option("--wait")->group(kRunsOptions);
}

}  // namespace

void add_run_options(CLI::App& app, RunSettings& options, std::string& emulate) {
  app.formatter(std::make_shared<RunFormatter>());
  add_driver_options(app, options, emulate);
  add_search_options(app, options);
  add_text_options(app, options);
  put_under_headings(app);
  app.prefix_command();
}

void take_run_options(RunSettings& options, const CLI::App& app, const std::string& emulate,
                      const CommandLine& line) {
  take_command(options, app, line);
  options.emulate = app.count("--emulate") > 0;
  options.profile = resolve_profile(emulate);
  if (options.emulate && !options.driver.empty()) {
    throw UsageError{"--emulate and --driver exclude each other"};
  }
  if (options.no_nvtx && !options.nvtx_include.empty()) {
    throw UsageError{"--no-nvtx and --nvtx-include exclude each other"};
  }
  if ((options.trace_errors || !options.trace_calls.empty()) &&
      !options.trace.ends_with(".jsonl")) {
    throw UsageError{
        std::string(options.trace_errors ? "--trace-errors" : "--trace-calls") +
        " needs --trace FILE.jsonl: program text has all calls, so that it can be replayed"};
  }
  if (options.blame.empty()) options.blame = words_of("CUVMM_BLAME");
  options.blame = checked_own_code(options.blame, options.command[0]);
  options.fail = checked_spec(options.fails);
  if (!options.hostile.empty()) {
    const Hostile hostile = read_hostile(options.hostile);
    options.hostile = hostile.emulator;
    if (options.streams.empty()) options.streams = hostile.streams;
  }
  options.driver = absolute(options.driver);
  const bool named = !options.suppressions.empty();
  if (const char* const file = std::getenv("CUVMM_SUPPRESSIONS"); file && !named)
    options.suppressions = file;
  options.suppressions = absolute(options.suppressions);
  check_suppressions(named ? "--suppressions" : "CUVMM_SUPPRESSIONS", options.suppressions);
  options.trace = absolute(options.trace);
  options.ring = absolute(options.ring);
  if (options.live != "off") options.live = absolute(options.live);
}

void add_run(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand("run", "Run a program and check its calls");
  auto options = std::make_shared<RunSettings>();
  auto emulate = std::make_shared<std::string>();
  add_run_options(*command, *options, *emulate);
  command->footer(kExamples);
  command->callback([command, options, emulate, &line] {
    take_run_options(*options, *command, *emulate, line);
    line.exit_code = run(std::move(*options), &line.signal);
  });
}

}  // namespace cuvmm::tools
