// SPDX-License-Identifier: Apache-2.0
// cuvmm work plan|run|merge|check: conformance, fuzzing and diagnosis over many machines. Slurm,
// Kubernetes or a person starts the shards; see docs/drivers/fleets.md.
#include <fmt/core.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>

#include "api/posix/whole_file.h"
#include "rulebook/base/limits.h"
#include "tools/base/atomic_file.h"
#include "tools/base/standard_streams.h"
#include "tools/command_line/commands.h"
#include "tools/command_line/usage.h"
#include "tools/installation/driver_choice.h"
#include "tools/installation/layout.h"
#include "tools/run/loader_path.h"
#include "tools/work/case_judge.h"
#include "tools/work/corpus.h"
#include "tools/work/merge.h"
#include "tools/work/shard.h"

namespace cuvmm::tools {

namespace {

constexpr int kExitFinding = 1;
constexpr int kExitUnfit = 3;
constexpr int kExitUnfinished = 75;  // EX_TEMPFAIL of sysexits.h: run it again

struct WorkSettings {
  bool conformance = false, pairs = false, doctor = false, bench = false;
  long fuzz = 0, seed_seconds = 10, first_seed = 1, recordings = 0, shards = 0;
  int devices = 0;
  bool emulate = false;
  std::string driver, profile, shard = "1/1", out, node, image, json, corpus;
  double time_limit_s = 0;
  std::vector<std::string> files;
};

int failed(const std::string& message) {
  print_error("cuvmm work: {}\n", message);
  return kExitFailure;
}

Job job_of(const WorkSettings& s) {
  if (s.conformance + s.pairs + s.doctor + s.bench + (s.fuzz > 0) + (s.recordings > 0) != 1)
    throw UsageError{
        "say what to do: one of --conformance, --pairs, --fuzz, --recordings, --doctor, --bench"};
  if (s.recordings > 0) return {.kind = WorkKind::kRecordings, .recordings = s.recordings};
  if (s.fuzz > 0) return {WorkKind::kFuzz, s.fuzz, s.seed_seconds, 0, s.first_seed};
  if (s.doctor) return {WorkKind::kDoctor};
  if (s.bench) return {WorkKind::kBench};
  return {s.pairs ? WorkKind::kPairs : WorkKind::kConformance};
}

// The options that describe the job, as the user would type them.
std::string job_options(const WorkSettings& s) {
  if (s.fuzz > 0) {
    return fmt::format("--fuzz {} --seed-seconds {}", s.fuzz, s.seed_seconds) +
           (s.first_seed == 1 ? "" : fmt::format(" --first-seed {}", s.first_seed));
  }
  if (s.recordings > 0) return fmt::format("--recordings {}", s.recordings);
  return s.doctor ? "--doctor" : s.bench ? "--bench" : s.pairs ? "--pairs" : "--conformance";
}

int plan(const WorkSettings& s) {
  const Job job = job_of(s);
  const long all = static_cast<long>(units(job).size());
  constexpr long kUnitsOfAShard = 64;
  const bool by_seed = job.kind == WorkKind::kFuzz || job.kind == WorkKind::kRecordings;
  long shards = s.shards;
  if (shards == 0) shards = by_seed ? all : (all + kUnitsOfAShard - 1) / kUnitsOfAShard;
  print_output("# {}: {} units in {} shards\n", job.label(), all, shards);
  std::string lines;
  for (long i = 1; i <= shards; ++i) {
    lines += fmt::format("cuvmm work run {} --shard {}/{} --out {}\n", job_options(s), i, shards,
                         s.out.empty() ? "DIR" : s.out);
    constexpr std::size_t kAtOnce = 1 << 16;
    if (lines.size() < kAtOnce && i != shards) continue;
    write_output(lines);
    lines.clear();
  }
  return 0;
}

// The target with the shim, the emulator and the programs of this installation.
WorkTarget own_target() {
  WorkTarget target;
  target.programs = own_folder();
  const LayoutResult layout = find_layout(own_folder());
  if (layout.error.empty()) {
    target.shim = layout.layout.shim;
    target.emulator = layout.layout.emulator;
  }
  return target;
}

// Chooses the driver. `libraries` holds the links to the emulator; the caller keeps it until the
// work is done.
std::string find_target(const WorkSettings& s, WorkTarget& target,
                        std::unique_ptr<LoaderPath>& libraries) {
  target = own_target();
  const LayoutResult layout = find_layout(own_folder());
  if (!s.driver.empty()) {
    target.driver = std::filesystem::absolute(s.driver).string();
    return "";
  }
  if (!s.emulate) {
    target.driver = "libcuda.so.1";
    return find_driver().empty() ? "there is no CUDA driver here" : "";
  }
  if (!layout.error.empty()) return layout.error;
  if (!s.profile.empty()) setenv("CUVMM_PROFILE", s.profile.c_str(), 1);
  if (s.devices) setenv("CUVMM_DEVICES", std::to_string(s.devices).c_str(), 1);
  libraries = std::make_unique<LoaderPath>(layout.layout);
  target.emulate = true;
  target.driver = libraries->layout().emulator;
  return libraries->error();
}

int run(const WorkSettings& s) {
  const Job job = job_of(s);
  const auto shard = parse_shard(s.shard);
  if (!shard)
    throw UsageError{"--shard: expected INDEX/COUNT, such as 3/100, not '" + s.shard + "'"};
  if (s.emulate && !s.driver.empty()) throw UsageError{"--emulate and --driver exclude each other"};
  WorkTarget target;
  std::unique_ptr<LoaderPath> libraries;
  const Fitness fitness = [&]() -> Fitness {
    if (std::string problem = find_target(s, target, libraries); !problem.empty())
      return {{}, std::move(problem)};
    return examine(target, s.node, s.image);
  }();
  if (!fitness.unfit.empty()) {
    print_error("cuvmm work: this node is unfit: {}\n", fitness.unfit);
    return kExitUnfit;
  }
  const ShardEnd end = run_shard(target, {job, *shard, s.out, s.time_limit_s}, fitness.stamp);
  if (!end.error.empty()) return failed(end.error);
  if (end.file.empty()) {
    print_error("cuvmm work: {} of {} units are done; run it again for the rest\n", end.done,
                end.units);
    return kExitUnfinished;
  }
  print_output("{} {} of {}: {} results, {} findings: {}\n", job.label(), shard->index,
               shard->count, end.done, end.findings,
               (end.already ? "there already, " : "") + end.file);
  return end.findings ? kExitFinding : 0;
}

int merge(const WorkSettings& s) {
  if (!std::filesystem::is_directory(s.out)) return failed(s.out + ": there is no such folder");
  if (!s.json.empty()) {
    if (const std::string problem = cannot_write(s.json); !problem.empty())
      return failed("--json " + s.json + ": " + problem);
  }
  const Merged merged = merge_folder(s.out, !s.corpus.empty());
  print_output("{}", merged_text(merged));
  if (!s.corpus.empty()) {
    const CorpusEnd end = write_corpus(merged.corpus, own_target(), s.corpus);
    if (!end.error.empty()) return failed(end.error);
    print_output("corpus: {} of {} programs in {}{}\n", end.programs, merged.corpus.size(),
                 s.corpus, end.note.empty() ? "" : ", not made fewer: " + end.note);
  }
  if (!s.json.empty()) {
    if (const std::string problem = write_whole(s.json, merged_json(merged)); !problem.empty())
      return failed(problem);
  }
  if (!merged.findings.empty() || !merged.outliers.empty()) return kExitFinding;
  // Missing and unreadable files may hold findings, so the merge is no success.
  return merged.files > 0 && merged.missing.empty() && merged.refused.empty() ? 0 : kExitUnfinished;
}

// Checks results of another machine: the file must be whole, and its verdicts must follow from its
// answers.
int check(const WorkSettings& s) {
  std::size_t bad = 0;
  for (const std::string& path : s.files) {
    const WholeFile file = whole_file(path);
    const ReadResult read =
        parse_result(file.text, std::filesystem::path(path).filename().string());
    std::string problem = file.error.empty() ? read.error : file.error;
    const WorkKind kind = read.result.job.kind;
    if (problem.empty() && (kind == WorkKind::kConformance || kind == WorkKind::kPairs))
      problem = CaseJudge(read.result.job).contradiction(read.result);
    if (problem.empty()) continue;
    ++bad;
    print_output("{}: {}\n", path, problem);
  }
  print_output("{} of {} files are as `cuvmm work run` writes them\n", s.files.size() - bad,
               s.files.size());
  return bad ? kExitFinding : 0;
}

void add_job(CLI::App& command, WorkSettings& s) {
  command.add_flag("--conformance", s.conformance, "Run the cases of the conformance suite");
  command.add_flag("--pairs", s.pairs, "The same, with the calls that break two rules");
  command.add_option("--fuzz", s.fuzz, "Search for so long, all seeds together")
      ->type_name("SECONDS")
      ->check(whole_number(1, 1'000'000'000));
  command.add_option("--seed-seconds", s.seed_seconds, "How long one seed is searched from")
      ->type_name("SECONDS")
      ->check(whole_number(1, 1'000'000))
      ->capture_default_str();
  command.add_option("--first-seed", s.first_seed, "The first of the seeds that are searched from")
      ->type_name("N")
      ->check(whole_number(1, 1'000'000'000))
      ->capture_default_str();
  command
      .add_option("--recordings", s.recordings,
                  "Record answers to programs of so many seeds, and compare with the emulator's")
      ->type_name("N")
      ->check(whole_number(1, 1'000'000'000));
  command.add_flag("--doctor", s.doctor, "Say what each machine can do");
  command.add_flag("--bench", s.bench, "Measure each machine's calls");
}

using Action = int (*)(const WorkSettings&);
CLI::App* add(CLI::App& work, const char* name, const char* help,
              const std::shared_ptr<WorkSettings>& s, CommandLine& line, Action action) {
  CLI::App* command = work.add_subcommand(name, help);
  command->allow_extras();
  command->callback([command, s, action, &line] {
    refuse_unexpected(*command);
    s->emulate = command->get_option_no_throw("--emulate") && command->count("--emulate") > 0;
    s->profile = resolve_profile(s->profile);
    line.exit_code = action(*s);
  });
  return command;
}

void add_run_options(CLI::App& command, WorkSettings& s) {
  command.add_option("--shard", s.shard, "Which part to do: the INDEX-th of COUNT")
      ->type_name("INDEX/COUNT")
      ->capture_default_str();
  command.add_option("--out", s.out, "The folder of all results")->type_name("DIR")->required();
  command.add_option("--driver", s.driver, "Run on this libcuda")
      ->type_name("PATH")
      ->transform(driver_library());
  add_emulate(command, s.profile,
              "Run on the emulator; PROFILE is a built-in profile or a TOML file");
  command.add_option("--devices", s.devices, "Number of devices of the emulator")
      ->type_name("N")
      ->check(whole_number(1, kMaxDevices));
  command.add_option("--time-limit", s.time_limit_s, "Begin no unit after so long")
      ->type_name("SECONDS")
      ->check(seconds(0.001));
  command
      .add_option("--node", s.node,
                  "Name of this machine in results (default: a pseudonym, from a hash of its name)")
      ->type_name("NAME");
  command.add_option("--image", s.image, "Name of this container in results (default: none)")
      ->type_name("NAME");
}

}  // namespace

void add_work(CLI::App& app, CommandLine& line) {
  CLI::App* work = app.add_subcommand("work", "Share work out among many machines");
  work->require_subcommand(1);
  auto s = std::make_shared<WorkSettings>();
  CLI::App* planning = add(*work, "plan", "Print the command of each shard", s, line, plan);
  add_job(*planning, *s);
  planning->add_option("--shards", s->shards, "How many (default: one for some minutes of work)")
      ->type_name("N")
      ->check(whole_number(1, kMostShards));
  planning->add_option("--out", s->out, "The folder of all results")->type_name("DIR");
  planning->footer(
      "Examples:\n"
      "  cuvmm work plan --conformance --shards 100 --out results\n");
  CLI::App* running = add(*work, "run", "Do one shard, or the rest of it", s, line, run);
  add_job(*running, *s);
  add_run_options(*running, *s);
  running->footer(
      "Examples:\n"
      "  cuvmm work run --conformance --shard 3/100 --out results\n"
      "Exits with 0 when the shard is done, 1 when it has findings, 3 when this machine is unfit,\n"
      "75 when time was up: the same command does the rest.\n");
  CLI::App* merging = add(*work, "merge", "Join all results of a folder", s, line, merge);
  merging->add_option("DIR", s->out, "The folder of all results")->required()->type_name(" ");
  merging->add_option("--json", s->json, "Write what was found as JSON")->type_name("FILE");
  merging
      ->add_option("--corpus", s->corpus,
                   "Write the programs that searches kept, as few as show all, into this folder")
      ->type_name("FOLDER");
  merging->footer(
      "Examples:\n"
      "  cuvmm work merge results --json merged.json\n"
      "Exits with 1 when there are findings, or machines that differ from their peers.\n");
  CLI::App* checking =
      add(*work, "check", "Say which files are not whole, or were changed", s, line, check);
  checking->add_option("FILE", s->files, "Results")->required()->type_name("...");
  checking->footer(
      "Examples:\n"
      "  cuvmm work check results/*/*/*.json\n");
  work->footer(
      "Examples:\n"
      "  cuvmm work plan --conformance --shards 100 --out results\n"
      "  cuvmm work run --conformance --shard 3/100 --out results\n"
      "  cuvmm work merge results --json merged.json\n");
}

}  // namespace cuvmm::tools
