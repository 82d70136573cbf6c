// SPDX-License-Identifier: Apache-2.0
#include "tools/run/run.h"

#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <exception>
#include <filesystem>
#include <optional>

#include "rulebook/profile/profile.h"
#include "tools/base/atomic_file.h"
#include "tools/base/standard_streams.h"
#include "tools/base/temporary_folder.h"
#include "tools/command_line/commands.h"
#include "tools/crash/last_calls_files.h"
#include "tools/installation/driver_choice.h"
#include "tools/installation/install_paths.h"
#include "tools/installation/layout.h"
#include "tools/live/live_folder.h"
#include "tools/report/blame/blame.h"
#include "tools/report/machine/machine_causes.h"
#include "tools/report/report_merge.h"
#include "tools/report/summary.h"
#include "tools/report/text/finding_text.h"
#include "tools/report/text/forked_children.h"
#include "tools/report/text/work_notes.h"
#include "tools/report/traces.h"
#include "tools/report/tree/process_tree.h"
#include "tools/run/child_environment.h"
#include "tools/run/ended/driver_watch.h"
#include "tools/run/ended/last_state.h"
#include "tools/run/executable.h"
#include "tools/run/launch_count.h"
#include "tools/run/loader_path.h"
#include "tools/run/preload/other_libc.h"
#include "tools/run/python_hint.h"
#include "tools/timeline/run_timeline.h"
#include "tools/view/formats.h"

namespace cuvmm::tools {

namespace {

const std::time_t g_began = ::time(nullptr);  // the command begins no more than one run

int failed(int code, const std::string& message) {
  print_error("cuvmm run: {}\n", message);
  return code;
}

void say(const RunSettings& options, const std::string& message) {
  if (!options.quiet) print_error("cuvmm: {}\n", message);
}

std::string value_of(const Environment& environment, const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

// Falls back to the emulator on a machine without a driver. Returns the reason why a driver that
// the user chose cannot be used; "" if it can.
std::string choose_driver(RunSettings& options, const Environment& environment) {
  if (options.emulate) return "";
  if (!options.driver.empty()) {
    const std::string problem = cannot_use_driver(options.driver);
    return problem.empty() ? "" : "--driver " + options.driver + ": " + problem;
  }
  if (!value_of(environment, "CUVMM_DRIVER").empty() || !find_driver().empty()) return "";
  options.emulate = true;
  std::string profile =
      options.profile.empty() ? value_of(environment, "CUVMM_PROFILE") : options.profile;
  if (profile.empty()) profile = builtin_profiles().front();
  say(options,
      "there is no CUDA driver here (libcuda.so.1 was not found): using the emulator, profile " +
          profile);
  return "";
}

void say_what_needs_the_emulator(const RunSettings& options) {
  if (options.emulate) return;
  if (options.devices > 0) {
    say(options, "--devices has no effect: it is for the emulator, and this is a real driver");
  }
  if (!options.streams.empty()) {
    say(options, "--streams has no effect: it is for the emulator, and this is a real driver");
  }
  if (!options.kernels.empty())
    say(options, "--kernels has no effect: it is for the emulator, and this is a real driver");
  if (!options.hostile.empty()) {
    say(options, "--hostile has no effect: it is for the emulator, and this is a real driver");
  }
  if (options.python)
    say(options, "--python has no effect: it is for the emulator, and this is a real driver");
  if (!options.torch.empty())
    say(options, "--torch has no effect: it is for the emulator, and this is a real driver");
  if (options.skipped_exitcode > 0) {
    say(options,
        "--skipped-exitcode has no effect: it is for the emulator, and a real driver runs kernels");
  }
}

std::vector<std::string> as_strings(const Environment& environment) {
  std::vector<std::string> result;
  for (const auto& [name, value] : environment) result.push_back(name + "=" + value);
  return result;
}

bool checks_kernels(const RunSettings& options, const Environment& environment) {
  return options.emulate && value_of(environment, "CUVMM_KERNELS").starts_with("check");
}

bool streams_are_eager(const RunSettings& options, const Environment& environment) {
  const std::string asked = value_of(environment, "CUVMM_STREAMS");
  const std::string& when = options.streams.empty() ? asked : options.streams;
  return options.emulate && (when.empty() || when == "eager");
}

// The circumstances that may have kept findings out of the report, one sentence each.
std::vector<std::string> gaps(const TreeResult& tree, const Reach& reach,
                              const std::vector<ProcessReport>& reports, bool eager,
                              const std::string& folder) {
  std::vector<std::string> notes;
  if (std::string note = other_libc_note(folder); !note.empty()) notes.push_back(std::move(note));
  for (std::string& note : work_notes(reports, eager)) notes.push_back(std::move(note));
  if (tree.left_running) {
    notes.push_back(
        "some processes were still running when the report was written; their later findings "
        "are missing");
  }
  // A process that called the driver at least once leaves a report.
  const bool own = std::any_of(reports.begin(), reports.end(),
                               [&](const ProcessReport& report) { return report.pid == tree.pid; });
  if (tree.signal && !own && reach.obstacle.empty()) {
    notes.push_back(fmt::format(
        "process {} was ended by {} and left no report: cuvmm saw it make no driver call", tree.pid,
        signal_text(tree.signal)));
  }
  return notes;
}

// Writes the merged report into each file, in the format of the file's suffix. Returns the files
// that were written. A report that cannot be written goes to a temporary folder, because the run
// that it describes may have taken hours.
std::vector<std::string> write_reports(const std::vector<std::string>& files, const Json& report) {
  std::vector<std::string> written;
  for (const std::string& file : files) {
    const std::string text = render(report, format_of(file));
    const std::string problem = write_whole(file, text);
    if (problem.empty()) {
      written.push_back(file);
      continue;
    }
    TemporaryFolder folder;
    const std::string rescued =
        folder.path() + "/" + std::filesystem::path(file).filename().string();
    if (folder.path().empty() || !write_whole(rescued, text).empty()) {
      print_error("cuvmm run: --report {}: {}\n", file, problem);
      continue;
    }
    folder.keep();
    print_error("cuvmm run: --report {}: {}; the report is in {} instead\n", file, problem,
                rescued);
  }
  return written;
}

// Remembers the blocked signals; the destructor blocks exactly these again.
class SignalMask {
 public:
  SignalMask() { sigprocmask(SIG_SETMASK, nullptr, &mask_); }
  ~SignalMask() { sigprocmask(SIG_SETMASK, &mask_, nullptr); }
  SignalMask(const SignalMask&) = delete;
  SignalMask& operator=(const SignalMask&) = delete;

 private:
  sigset_t mask_;
};

// Whether a person or another process ended the program, instead of a mistake of its own.
bool ended_on_request(const TreeResult& tree) {
  return tree.signal == SIGINT || tree.signal == SIGTERM || tree.signal == SIGHUP;
}

// Whether --error-exitcode makes a run without findings fail, because the run was not checked
// whole.
bool is_gap(const RunSettings& options, const MergedReport& merged, const NotEmulated& missing) {
  if (!options.error_exitcode || options.allow_unchecked) return false;
  const bool skipped = missing.skipped_launches > 0 || no_kernel_checked(missing);
  return (skipped && options.skipped_exitcode < 0) || calls_unchecked(merged, missing) ||
         !gap_sentences(merged, missing).empty();
}

// The exit code of the command, if all reports could be written.
struct RunVerdict {
  int code = 0;
  // The reason for `code`, where nothing else that is printed has it.
  const char* because = nullptr;
  bool unchecked = false;  // `code` says that a part of the run was not checked
};

RunVerdict verdict_of(const RunSettings& options, const TreeResult& tree,
                      const MergedReport& merged, const BlameTally& blame,
                      const NotEmulated& missing) {
  if (options.error_exitcode && blame.counted > 0) return {options.error_exitcode};
  const bool own_code = tree.exit_code != 0 && tree.signal == 0;
  if (options.error_exitcode && tree.exit_code == 0 && merged.unread > 0) {
    return {.code = kExitFailure,
            .because = "a report is lost, so nobody knows whether there were findings"};
  }
  if (options.error_exitcode && !own_code && !merged.unjudged.empty()) {
    return {.code = kExitLeaksUnknown,
            .because = "leaks were not looked for, so nobody knows whether there were some"};
  }
  if (options.error_exitcode && !own_code && merged.perhaps_leaked != 0) {
    return {.code = kExitLeaksUnknown,
            .because =
                "a process was ended a moment after a call, so nobody knows whether it "
                "leaked the objects named above"};
  }
  if (tree.exit_code != 0) return {tree.exit_code};
  if ((missing.skipped_launches > 0 || no_kernel_checked(missing)) && options.skipped_exitcode > 0)
    return {options.skipped_exitcode};
  if (is_gap(options, merged, missing)) return {.code = kExitUnchecked, .unchecked = true};
  return {};
}

// Prints the findings between processes. Each process has printed its own findings; these appear
// only when the reports are merged.
void tell_between(const RunSettings& options, const Json& findings) {
  constexpr int kOnTerminal = 10;
  const int asked = options.limit >= 0 ? options.limit : ::isatty(STDERR_FILENO) ? kOnTerminal : 0;
  const std::size_t most = asked == 0 ? findings.size() : static_cast<std::size_t>(asked);
  for (std::size_t i = 0; i < findings.size() && i < most; ++i)
    write_error("cuvmm: " + finding_text(findings[i]));
  if (findings.size() > most) {
    say(options, fmt::format("{} more findings between processes (--report has all)",
                             findings.size() - most));
  }
}

// The run itself, as the report shows it: what ran, under which cuvmm, and since when.
Json run_members(const RunSettings& options, std::time_t began) {
  std::tm parts{};
  ::gmtime_r(&began, &parts);
  return {{"cuvmm", kVersion},
          {"began",
           fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900,
                       parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec)},
          {"command", options.command}};
}

// Merges the reports of the processes, writes the result and prints the summary. Returns the exit
// code of the command.
int conclude(const RunSettings& options, const TreeResult& tree, const Reach& reach,
             std::vector<ProcessReport> reports, TemporaryFolder& folder,
             const NotEmulated& missing, const DriverWatch& drivers, bool eager) {
  const Endings endings{{tree.signals.begin(), tree.signals.end()}, tree.left_running};
  MergedReport merged =
      merge_reports(reports, gaps(tree, reach, reports, eager, folder.path()), endings);
  drivers.add_to(merged, reports);
  merged.value["run"] = run_members(options, g_began);
  std::vector<std::string> causes;
  if (options.emulate) {
    merged.value["skipped_launches"] = missing.skipped_launches;
    if (!missing.need_driver.empty()) merged.value["need_driver"] = missing.need_driver;
    if (!missing.functions.empty()) merged.value["not_emulated"] = missing.functions;
    if (!options.outage.empty()) causes = explain_by_outage(merged.value, options.outage);
  } else if (!options.quiet || !options.reports.empty()) {
    causes = explain_by_machine(merged.value, options.driver);
  }
  if (options.timeline) {
    for (std::string& note : add_timelines(merged.value, folder.path(), reports))
      merged.notes.push_back(std::move(note));
  }
  // The report also has the sentences that the summary ends with on stderr.
  for (const std::string& gap : gap_sentences(merged, missing))
    merged.value["notes"].push_back(gap);
  // The folder stays if a report could not be read, so that a user can look at the files.
  const bool odd = std::any_of(reports.begin(), reports.end(), [](const ProcessReport& report) {
    return !report.error.empty() || !report.problems.empty();
  });
  if (odd) folder.keep();
  const OwnCode own(options.blame);
  const BlameTally blame = blame_findings(merged.value, own);
  const std::vector<std::string> written = write_reports(options.reports, merged.value);
  for (const std::string& cause : causes) say(options, cause);
  if (!options.quiet) tell_between(options, merged.between);
  for (const std::string& list : merged.in_use_lists) {
    if (!options.quiet) write_error(list);
  }
  if (!options.quiet && !ended_on_request(tree))
    write_error(forked_children_text(merged.value, tree.exit_code != 0));
  const RunVerdict verdict = verdict_of(options, tree, merged, blame, missing);
  if (tree.exit_code != 0 && nothing_checked(merged)) {
    if (const std::string hint = python_hint(options.command); !hint.empty()) say(options, hint);
  }
  if (!options.quiet) {
    write_error(summary_text(merged, written, missing, verdict.unchecked ? verdict.code : 0,
                             blame_text(blame, own)));
  }
  if (written.size() != options.reports.size()) return kExitFailure;
  if (!verdict.because) return verdict.code;
  return failed(verdict.code, std::string("--error-exitcode: ") + verdict.because);
}

// The folder into which the processes write their last calls: the folder that the user named, or a
// temporary one that is deleted unless a process crashes.
class LastCallsFolder {
 public:
  LastCallsFolder(RunSettings& options, const Environment& environment)
      : all_(!options.ring.empty()) {
    if (all_) {
      std::error_code error;
      std::filesystem::create_directories(options.ring, error);
      if (error) problem_ = "--ring " + options.ring + ": " + error.message();
    } else if (value_of(environment, "CUVMM_RING").empty()) {
      own_.emplace();
      own_->open_to_other_users();
      options.ring = own_->path();
    }
    folder_ = options.ring;
  }
  const std::string& problem() const { return problem_; }
  void add_to(Environment& environment) const {
    // All files stay. Otherwise conclude() keeps the files of processes that crashed, because a
    // process cannot know beforehand whether it will crash.
    if (all_) environment["CUVMM_RING_KEEP"] = "1";
  }
  void conclude(const RunSettings& options, const TreeResult& tree) {
    constexpr std::size_t kMostNamed = 4;
    if (folder_.empty()) return;
    const std::vector<LastCallsFile> files = keep_last_calls(folder_, tree, all_);
    if (own_ && !files.empty()) own_->keep();
    for (std::size_t i = 0; i < files.size() && i < kMostNamed; ++i) {
      say(options,
          files[i].sentence + "; for its last calls, type: cuvmm explain-crash " + files[i].file);
    }
    if (files.size() > kMostNamed) {
      say(options, fmt::format("and {} more in {}", files.size() - kMostNamed, folder_));
    }
  }

 private:
  const bool all_;
  std::optional<TemporaryFolder> own_;
  std::string folder_, problem_;
};

// Writes for each process that a signal ended a line "PID SIGNAL". `cuvmm fail` reads the file.
void write_signals(const std::string& file, const TreeResult& tree) {
  std::string text;
  if (tree.signal != 0) text += fmt::format("{} {}\n", tree.pid, tree.signal);
  for (const auto& [pid, signal] : tree.signals) {
    if (pid != tree.pid) text += fmt::format("{} {}\n", pid, signal);
  }
  if (const std::string problem = write_whole(file, text); !problem.empty()) {
    print_error("cuvmm run: {}: {}\n", file, problem);
  }
}

// Chooses the folder in which the processes show the memory that they hold, and makes it. Returns
// the problem if a folder that the user named cannot be made. If the default folder cannot be made,
// the run goes on with `--live off`.
std::string choose_live(RunSettings& options, const Environment& environment) {
  const bool asked = !options.live.empty();
  if (options.live == "off" || (!asked && !value_of(environment, "CUVMM_LIVE").empty())) return {};
  if (!asked) options.live = live_folder();
  const std::string problem = make_live_folder(options.live);
  if (problem.empty()) return {};
  if (asked) return "--live " + options.live + ": " + problem;
  options.live = "off";
  return {};
}

// The folders in which the processes left the memory that they held, and the user's suppressions.
LastStates left_by_processes(const Environment& environment) {
  const auto folder = [&](const char* name) {
    const std::string value = value_of(environment, name);
    return value == "off" ? std::string() : value;
  };
  LastStates states{folder("CUVMM_LIVE"),
                    folder("CUVMM_RING"),
                    {},
                    value_of(environment, "CUVMM_LEAK_CHECK") == "full"};
  const std::string suppressions = value_of(environment, "CUVMM_SUPPRESSIONS");
  if (!suppressions.empty()) states.suppressions = frames::Suppressions::load(suppressions);
  return states;
}

// 0, or the exit code if a file that the run writes cannot be written or has no known suffix.
int check_outputs(RunSettings& options) {
  for (const std::string& report : options.reports) {
    const ReportFormat format = format_of(report);
    if (format == ReportFormat::kUnknown) {
      return failed(kExitUsage, "--report " + report + ": " + known_suffixes());
    }
    options.timeline = options.timeline || wants_timeline(format);
    const std::string problem = cannot_write(report);
    if (!problem.empty()) return failed(kExitFailure, "--report " + report + ": " + problem);
  }
  if (!options.trace.empty()) {
    const std::string problem = cannot_write(options.trace);
    if (!problem.empty()) return failed(kExitFailure, "--trace " + options.trace + ": " + problem);
  }
  return 0;
}

}  // namespace

int run(RunSettings options, int* ended_by) {
  if (const int code = check_outputs(options)) return code;
  const Environment current = current_environment();
  const std::string path = value_of(current, "PATH");
  const FoundProgram program = find_program(options.command[0], path);
  if (!program.error.empty()) return failed(program.exit_code, program.error);
  const LayoutResult layout = find_layout(own_folder());
  if (!layout.error.empty()) return failed(kExitFailure, layout.error);
  if (std::string problem = choose_driver(options, current); !problem.empty()) {
    return failed(kExitFailure, problem);
  }
  say_what_needs_the_emulator(options);
  TemporaryFolder folder;
  if (folder.path().empty()) return failed(kExitFailure, folder.problem());
  folder.open_to_other_users();

  LoaderPath libraries(layout.layout);
  if (!libraries.error().empty()) return failed(kExitFailure, libraries.error());
  const Reach reach = inspect_reach(program.path, path);
  if (!reach.obstacle.empty()) {
    say(options, program.path + " cannot be checked: " + reach.obstacle +
                     "; only the programs that it starts are checked");
  }
  if (reach.address_sanitizer) {
    say(options,
        "the program is built with AddressSanitizer: ASAN_OPTIONS gets "
        "verify_asan_link_order=0:protect_shadow_gap=0 before your own");
  }
  LastCallsFolder last_calls(options, current);
  if (!last_calls.problem().empty()) return failed(kExitFailure, last_calls.problem());
  if (std::string problem = choose_live(options, current); !problem.empty()) {
    return failed(kExitFailure, problem);
  }
  const std::string trace = options.trace;
  options.trace = trace_pattern(trace);
  const LaunchCount launches;
  Environment environment = child_environment(current, options, libraries.layout(), folder.path());
  last_calls.add_to(environment);
  environment["CUVMM_RUN"] = this_run();
  if (options.emulate && !launches.path().empty()) {
    environment["CUVMM_LAUNCH_COUNT"] = launches.path();
  }
  // run_tree() blocks signals; they stay blocked until the report is written.
  const SignalMask mask;
  const LastStates states = left_by_processes(environment);
  EndWatch watch(states.live_folder);
  DriverWatch drivers(layout.layout.shim);
  const TreeResult tree =
      run_tree(program.path, options.command, as_strings(environment),
               {.wait_s = options.wait, .quiet = options.quiet, .hold_signals = true, .look = [&] {
                  watch.look();
                  drivers.look();
                }});
  if (!tree.error.empty()) {
    const bool missing = tree.error_number == ENOENT;
    return failed(missing ? kExitNotFound : kExitNotExecutable,
                  program.path + ": " + tree.error + (missing ? " (its interpreter?)" : ""));
  }

  if (!options.tree_file.empty()) write_signals(options.tree_file, tree);
  if (tree.left_running) libraries.keep();  // they preload the shim into what they start
  for (const std::string& file : collect_traces(trace, options.trace))
    say(options, "trace in " + file);
  try {
    std::vector<ProcessReport> reports = read_reports(folder.path(), tree.pid);
    watch.look();
    judge_last_states(reports, states, tree, watch);
    last_calls.conclude(options, tree);
    const int code = conclude(options, tree, reach, std::move(reports), folder,
                              {launches.read(), launches.need_driver(), launches.not_emulated(),
                               checks_kernels(options, environment), launches.checked_kernels()},
                              drivers, streams_are_eager(options, current));
    if (ended_by && code == tree.exit_code && ended_on_request(tree)) *ended_by = tree.signal;
    return code;
  } catch (const std::exception& error) {
    folder.keep();
    print_error("cuvmm run: the reports in {} could not be merged: {}\n", folder.path(),
                error.what());
    return options.reports.empty() ? tree.exit_code : kExitFailure;
  }
}

}  // namespace cuvmm::tools
