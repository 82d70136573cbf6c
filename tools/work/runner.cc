// SPDX-License-Identifier: Apache-2.0
#include "tools/work/runner.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "api/posix/whole_file.h"
#include "conformance/record/record.h"
#include "conformance/run/known_facts.h"
#include "tools/base/temporary_folder.h"
#include "tools/doctor/doctor.h"
#include "tools/installation/install_paths.h"
#include "tools/work/case_judge.h"
#include "tools/work/child.h"
#include "tools/work/recordings.h"

namespace cuvmm::tools {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kFew = 32;  // cases between two calls of `done`, which looks at the clock

// The rest of the first line that begins with `beginning`; "" if there is none.
std::string line_behind(const std::string& output, const std::string& beginning) {
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(beginning, 0) == 0) return line.substr(beginning.size());
  }
  return "";
}

std::string run_cases(const WorkTarget& target, const Job& job,
                      const std::vector<std::string>& units, const Done& done) {
  const CaseJudge judge(job);
  conformance::RecordOptions options;
  options.share = true;
  for (std::size_t first = 0; first < units.size(); first += kFew) {
    const auto begin = units.begin() + static_cast<std::ptrdiff_t>(first);
    const std::vector<std::string> few(
        begin, begin + static_cast<std::ptrdiff_t>(std::min(kFew, units.size() - first)));
    const auto run = conformance::record_cases(target.driver, judge.cases(few), options);
    if (!run.error.empty()) return run.error;
    const auto known = conformance::known_profile(run.recording);
    if (!done(judge.judge(run.recording, few, known))) return "";
  }
  return "";
}

std::vector<std::string> programs_in(const fs::path& folder) {
  std::vector<std::string> texts;
  for (const auto& each : fs::directory_iterator(folder)) {
    if (each.path().extension() == ".cuvmm") texts.push_back(whole_file(each.path()).text);
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

UnitResult fuzz_result(const std::string& unit, const ChildEnd& end, const fs::path& found,
                       const fs::path& corpus) {
  UnitResult result{unit, "agreed", "", {}, ""};
  result.corpus = programs_in(corpus);
  if (end.code == 0) return result;
  result.status = "found";
  result.finding = line_behind(end.output, "kind: ");
  if (result.finding.empty()) result.finding = line_behind(end.output, "finding: ");
  if (result.finding.empty()) result.finding = fmt::format("cuvmm-fuzz ended with {}", end.code);
  for (const std::string& text : programs_in(found)) {
    if (result.program.empty() || text.size() < result.program.size()) result.program = text;
  }
  return result;
}

// The command that searches with a seed. On the emulator, the seed chooses one of the searches of
// fuzz/run. A real driver gets only programs of one process, and never a multicast call.
std::vector<std::string> search_of(const WorkTarget& target, std::uint64_t seed) {
  static const std::vector<std::string> kSearches[] = {
      {"cuvmm-fuzz", "--multicast", "yes"},
      {"cuvmm-fuzz", "--multicast", "yes", "--judge", "shim"},
      {"cuvmm-fuzz", "--multicast", "yes", "--processes", "2"},
      {"cuvmm-fuzz", "--multicast", "yes", "--processes", "2", "--judge", "shim"},
      {"cuvmm-fuzz-flight", "--processes", "2"}};
  std::vector<std::string> search{"cuvmm-fuzz"};
  if (target.emulate) search = kSearches[(seed - 1) % std::size(kSearches)];
  search[0] = target.programs + "/" + search[0];
  return search;
}

std::string run_fuzz(const WorkTarget& target, const Job& job,
                     const std::vector<std::string>& units, const Done& done) {
  for (const std::string& unit : units) {
    const TemporaryFolder found, corpus;
    if (found.path().empty() || corpus.path().empty())
      return found.path().empty() ? found.problem() : corpus.problem();
    std::vector<std::string> search = search_of(target, seed_of(unit));
    if (std::string problem = missing_program(search[0]); !problem.empty()) return problem;
    if (search[0].ends_with("cuvmm-fuzz")) search.insert(search.end(), {"--corpus", corpus.path()});
    search.insert(search.end(),
                  {"--driver", target.driver, "--seconds", std::to_string(job.seed_seconds),
                   "--seed", std::to_string(seed_of(unit)), "--output", found.path()});
    const ChildEnd end = run_child(search, {});
    constexpr int kMistake = 2, kNoDriver = 3, kNotStarted = 127;
    if (end.code == kMistake || end.code == kNoDriver || end.code == kNotStarted)
      return "cuvmm-fuzz: " + end.output;
    if (!done({fuzz_result(unit, end, found.path(), corpus.path())})) break;
  }
  return "";
}

std::string run_doctor(const WorkTarget& target, const Done& done) {
  doctor::DoctorOptions options;
  options.driver = target.driver;
  options.nvml = doctor::nvml_beside(target.driver);
  std::vector<UnitResult> results;
  // Results have only the doctor's verdicts, because its sentences name devices and paths of this
  // machine.
  for (const doctor::Check& each : doctor::diagnose(options))
    results.push_back({"doctor/" + each.id,
                       std::string(doctor::status_text(each.status)),
                       "",
                       {std::string(doctor::status_text(each.status))},
                       ""});
  done(results);
  return "";
}

std::string run_bench(const WorkTarget& target, const Done& done) {
  const std::string program = target.programs + "/cuvmm-bench";
  if (std::string problem = missing_program(program); !problem.empty()) return problem;
  std::vector<std::string> arguments = {program,  "--driver", target.driver, "--only", "calls",
                                        "--live", "0",        "--seconds",   "0.5"};
  if (!target.shim.empty()) arguments.insert(arguments.end(), {"--shim", target.shim});
  const ChildEnd end = run_child(arguments, {});
  if (end.code != 0) return "cuvmm-bench: " + end.output;
  std::vector<UnitResult> results;
  std::istringstream lines(end.output);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, nanoseconds, unit;
    if (words >> name >> nanoseconds >> unit && unit == "ns")
      results.push_back({"bench/" + name, "measured", "", {nanoseconds + " ns"}, ""});
  }
  done(results);
  return "";
}

}  // namespace

std::string pseudonym() {
  // Slurm may simulate several nodes on one machine. They differ only in the name that Slurm gives.
  const char* given = std::getenv("SLURMD_NODENAME");
  char host[256] = {};
  if (given && *given) return "node-" + content_hash(given).substr(0, 8);
  ::gethostname(host, sizeof host - 1);
  return "node-" + content_hash(host).substr(0, 8);
}

Fitness examine(const WorkTarget& target, const std::string& node, const std::string& image) {
  Fitness fitness;
  Stamp& stamp = fitness.stamp;
  stamp.cuvmm = kVersion;
  stamp.node = node.empty() ? pseudonym() : node;
  stamp.image = image;
  const auto asked = conformance::record_cases(target.driver, {});
  if (!asked.error.empty()) {
    fitness.unfit = asked.error;
    return fitness;
  }
  const auto profile = conformance::known_profile(asked.recording);
  stamp.driver =
      asked.recording.emulated ? (profile ? profile->name : "") : asked.recording.driver_version;
  stamp.cuda = asked.recording.cuda_version;
  stamp.gpu = asked.recording.gpu;
  stamp.devices = asked.recording.devices;
  stamp.emulated = asked.recording.emulated;
  doctor::DoctorOptions options;
  options.driver = target.driver;
  options.nvml = doctor::nvml_beside(target.driver);
  for (const doctor::Check& each : doctor::diagnose(options)) {
    if (each.status != doctor::Status::kDoesNot) continue;
    stamp.lacks.push_back(each.id);
    if (each.id == "driver" || each.id == "devices" || each.id == "vmm")
      fitness.unfit = each.id + ": " + each.detail;
  }
  return fitness;
}

std::string run_units(const WorkTarget& target, const Job& job,
                      const std::vector<std::string>& units, const Done& done) {
  switch (job.kind) {
    case WorkKind::kConformance:
    case WorkKind::kPairs:
      return run_cases(target, job, units, done);
    case WorkKind::kFuzz:
      return run_fuzz(target, job, units, done);
    case WorkKind::kRecordings:
      return run_recordings(target, units, done);
    case WorkKind::kDoctor:
      return run_doctor(target, done);
    case WorkKind::kBench:
      return run_bench(target, done);
  }
  return "";
}

}  // namespace cuvmm::tools
