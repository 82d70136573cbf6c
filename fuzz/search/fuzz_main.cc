// SPDX-License-Identifier: Apache-2.0
// cuvmm-fuzz: searches for sequences of calls on which a libcuda and the reference disagree.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string_view>

#include "fuzz/finding/fingerprint.h"
#include "fuzz/finding/last_programs.h"
#include "fuzz/finding/shrinker.h"
#include "fuzz/generate/generator.h"
#include "fuzz/search/command_line.h"
#include "fuzz/search/report.h"
#include "fuzz/search/sanitizer_options.h"

namespace cuvmm::fuzz {
namespace {

constexpr const char* kUsage =
    "usage: cuvmm-fuzz --driver LIBCUDA [options]\n"
    "  --seconds N      search for so long (10)\n"
    "  --seed N         of the search (1)\n"
    "  --profile NAME   what the driver behaves as (CUVMM_PROFILE, else the newest GPU's)\n"
    "  --judge WHAT     emulator: the driver's answers (default); shim: the shim on top of it, "
    "too\n"
    "  --multicast yes  use multicast, too, which only the emulator is asked to (no); with\n"
    "                   CUVMM_PROFILE=documented logical endpoints and fabric copies as well\n"
    "  --processes N    programs of one process (default) or of two, which share memory\n"
    "  --replay FILE    run a program text or a binary input, once, and say what disagrees; of a\n"
    "                   folder, each file by name, in one process\n"
    "  --last FILE      write the programs that a target ran last into the output folder\n"
    "  --shrink FILE    make a program that disagrees as short as it can be\n"
    "  --text FILE      print a binary input as program text\n"
    "  --annotate FILE  print a program text with what the driver answers now\n"
    "  --binary FILE    write a program text to standard output as an input of the targets\n"
    "  --inputs N       write N made programs of 30 calls as inputs of the targets into the output "
    "folder\n"
    "  --corpus FOLDER  write a few programs that show all that was seen, annotated, as text\n"
    "  --from FOLDER    with --corpus: of the programs in that folder (*.cuvmm), instead of a "
    "search's\n"
    "  --output FOLDER  where findings go (.)\n"
    "exit code: 0 all agreed, 1 a finding, 2 a mistake in the arguments, 3 no driver\n";

struct Arguments {
  Target target;
  double seconds = 10;
  std::uint64_t seed = 1, inputs = 0;
  std::string replay, last, shrink, text, annotate, binary, corpus, from, output = ".";
};

std::optional<Arguments> parse(int argc, char** argv) {
  Arguments out;
  if (const char* profile = std::getenv("CUVMM_PROFILE")) out.target.profile = profile;
  Target& target = out.target;
  const bool good = take_options(
      argc, argv,
      {option("--driver", target.driver),
       option("--seconds", out.seconds),
       option("--seed", out.seed),
       option("--profile", target.profile),
       {"--judge", [&](const char* value) { target.shim = std::string_view(value) == "shim"; }},
       {"--multicast",
        [&](const char* value) { target.options.multicast = std::string_view(value) == "yes"; }},
       {"--processes",
        [&](const char* value) { target.processes = std::clamp(std::atoi(value), 1, kProcesses); }},
       option("--replay", out.replay),
       option("--last", out.last),
       option("--shrink", out.shrink),
       option("--annotate", out.annotate),
       option("--text", out.text),
       option("--binary", out.binary),
       option("--inputs", out.inputs),
       option("--corpus", out.corpus),
       option("--from", out.from),
       option("--output", out.output)});
  const bool driverless =
      !out.text.empty() || !out.binary.empty() || !out.last.empty() || out.inputs != 0;
  if (!good || (!out.from.empty() && out.corpus.empty()) || (target.driver.empty() && !driverless))
    return std::nullopt;
  return out;
}

Ops read_ops(const std::string& path) {
  const std::optional<std::string> read = file_content(path);
  if (!read) std::exit(2);
  const std::string& bytes = *read;
  if (bytes.rfind("cuvmmfz", 0) == 0) {
    return decode({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  }
  TextOps program = from_text(bytes);
  if (!program.error.empty()) {
    std::fprintf(stderr, "%s: %s\n", path.c_str(), program.error.c_str());
    std::exit(2);
  }
  return program.ops;
}

bool has_endpoints(const Target& target) {
  const ProfileResult profile = load_profile(target.profile);
  return !target.profile.empty() && profile.profile.cuda_version >= kEndpointsSince;
}

void write_inputs(const Arguments& arguments) {
  for (std::uint64_t i = 0; i < arguments.inputs; ++i) {
    Random random(arguments.seed + i);
    Style style = swarm(random, {.devices = 3,
                                 .processes = arguments.target.processes,
                                 .multicast = arguments.target.options.multicast,
                                 .endpoints = has_endpoints(arguments.target),
                                 .further = true});
    style.ops = 30;
    const auto bytes = encode(generate(random, style));
    char name[16];
    std::snprintf(name, sizeof name, "/%06u", static_cast<unsigned>(i % 1000000));
    std::ofstream(arguments.output + name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
}

int tell(const Arguments& arguments, const Finding& finding, const std::string& name) {
  std::cout << report(arguments.target, finding, arguments.output, name);
  return 1;
}

// The shortest program that shows a problem of the same kind: a crash stays a crash.
Finding shortest(const Target& target, const Finding& finding) {
  const std::string wanted = kind_of(finding.problem);
  const ShrinkResult shrunk = shrink(finding.ops, [&](const Ops& ops) {
    const auto again = try_program(target, ops);
    return again && kind_of(again->problem) == wanted;
  });
  std::printf("shrunk from %zu to %zu ops by %u tries\n", finding.ops.size(), shrunk.ops.size(),
              shrunk.candidates);
  return try_program(target, shrunk.ops).value_or(finding);
}

// Writes the few programs that together show everything that all of them showed.
void keep(const Arguments& arguments, const std::vector<Ops>& found) {
  unsigned number = 0;
  for (const Ops& ops : minimise(arguments.target, found)) {
    char name[16];
    std::snprintf(name, sizeof name, "/%03u.cuvmm", number++);
    std::ofstream(arguments.corpus + name) << annotated_text(arguments.target, ops);
  }
  std::printf("%u programs in %s\n", number, arguments.corpus.c_str());
}

// The files of a folder with this extension, by name.
std::vector<std::string> files_in(const std::string& folder, std::string_view extension) {
  std::vector<std::string> paths;
  for (const auto& each : std::filesystem::directory_iterator(folder)) {
    if (each.path().extension() == extension) paths.push_back(each.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// Does keep() for the programs of a folder.
int keep_of(const Arguments& arguments) {
  std::vector<Ops> found;
  for (const std::string& path : files_in(arguments.from, ".cuvmm")) {
    found.push_back(read_ops(path));
  }
  keep(arguments, found);
  return 0;
}

// Writes a finding down before anything else is done with it: the program, and the programs before
// it, because their effects may matter. Returns the name that its files begin with.
std::string store(const Arguments& arguments, const Hunt& result, const std::string& print) {
  const Target& target = arguments.target;
  const std::string name = std::string("found-") + (target.shim ? "shim" : "emulator") +
                           (target.processes > 1 ? "-processes-" : "-") +
                           std::to_string(arguments.seed) + "-" + print;
  const std::string folder = arguments.output + "/" + name + ".last";
  const std::size_t count = write_programs(result.last, folder);
  std::printf("the last %zu programs, of which the last one disagrees: %s\n", count,
              folder.c_str());
  std::fflush(stdout);
  return name;
}

int search(const Arguments& arguments) {
  const auto time = std::chrono::milliseconds(static_cast<std::int64_t>(1000 * arguments.seconds));
  const Hunt result = hunt(arguments.target, arguments.seed, time);
  if (!result.error.empty()) {
    std::fprintf(stderr, "cuvmm-fuzz: %s\n", result.error.c_str());
    return 3;
  }
  std::printf("%s; %.0f programs/s, %.0f calls/s, %zu kept\n", result.statistics.text().c_str(),
              static_cast<double>(result.statistics.programs) / result.seconds,
              static_cast<double>(result.statistics.calls) / result.seconds,
              result.with_new_features.size());
  if (!arguments.corpus.empty()) keep(arguments, result.with_new_features);
  if (!result.finding) return 0;
  std::printf("found after %.1f s: %s\n", result.seconds, result.finding->problem.c_str());
  const std::string name = store(arguments, result, fingerprint(kind_of(result.finding->problem)));
  const auto alone = try_program(arguments.target, result.finding->ops);
  if (!alone) std::printf("not seen again in a process of its own\n");
  const Finding last = alone ? shortest(arguments.target, *alone) : *result.finding;
  // The short program may show the fault by another call, so the kind is that of its disagreement.
  const std::string kind = kind_of(last.problem);
  std::printf("kind: %s\nfingerprint: %s\n", kind.c_str(), fingerprint(kind).c_str());
  return tell(arguments, last, name);
}

// Runs one program, or all programs of a folder in one process.
int replay(const Arguments& arguments) {
  std::vector<std::string> paths = {arguments.replay};
  if (std::filesystem::is_directory(arguments.replay)) paths = files_in(arguments.replay, "");
  std::vector<Ops> programs;
  for (const std::string& path : paths) programs.push_back(read_ops(path));
  const auto finding = try_programs(arguments.target, programs);
  if (finding || programs.size() == 1) {
    std::cout << annotated_text(arguments.target, finding ? finding->ops : programs.front());
  }
  if (finding) {
    std::cout << "finding: " << finding->problem
              << "\nfingerprint: " << fingerprint(kind_of(finding->problem)) << "\n";
  }
  return finding ? 1 : 0;
}

// Reads the ring of a target (fuzz/targets/engine.cc).
int write_last(const Arguments& arguments) {
  const auto ring = std::make_unique<LastPrograms>();
  std::ifstream file(arguments.last, std::ios::binary);
  file.read(reinterpret_cast<char*>(ring.get()), sizeof *ring);
  if (!file) {
    std::fprintf(stderr, "%s: cannot be read\n", arguments.last.c_str());
    return 2;
  }
  std::printf("%zu programs in %s\n", write_programs(ring->in_order(), arguments.output),
              arguments.output.c_str());
  return 0;
}

int run(int argc, char** argv) {
  const auto arguments = parse(argc, argv);
  if (!arguments) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  if (!arguments->annotate.empty()) {
    std::cout << annotated_text(arguments->target, read_ops(arguments->annotate));
    return 0;
  }
  if (!arguments->text.empty()) {
    std::cout << to_text(read_ops(arguments->text));
    return 0;
  }
  if (!arguments->binary.empty()) {
    const auto bytes = encode(read_ops(arguments->binary));
    std::cout.write(reinterpret_cast<const char*>(bytes.data()),
                    static_cast<std::streamsize>(bytes.size()));
    return 0;
  }
  if (!arguments->last.empty()) return write_last(*arguments);
  if (arguments->inputs != 0) {
    write_inputs(*arguments);
    return 0;
  }
  // The memory is small enough that a program can run out of it.
  setenv("CUVMM_DEVICES", "3", 0);
  setenv("CUVMM_DEVICE_MEMORY", "64M", 0);
  setenv("CUVMM_MULTICAST_TIMEOUT_MS", "0", 0);
  if (!arguments->replay.empty()) return replay(*arguments);
  if (!arguments->shrink.empty()) {
    const auto finding = try_program(arguments->target, read_ops(arguments->shrink));
    if (!finding) {
      std::printf("nothing disagrees\n");
      return 0;
    }
    return tell(*arguments, shortest(arguments->target, *finding), "shrunk");
  }
  return arguments->from.empty() ? search(*arguments) : keep_of(*arguments);
}

}  // namespace
}  // namespace cuvmm::fuzz

int main(int argc, char** argv) { return cuvmm::fuzz::run(argc, argv); }
