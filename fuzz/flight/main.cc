// SPDX-License-Identifier: Apache-2.0
// cuvmm-fuzz-flight: searches with programs about work in flight, on the emulator's late streams.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <optional>

#include "fuzz/finding/fingerprint.h"
#include "fuzz/flight/search.h"
#include "fuzz/search/command_line.h"
#include "fuzz/search/sanitizer_options.h"

namespace cuvmm::fuzz::flight {
namespace {

constexpr char kUsage[] =
    "usage: cuvmm-fuzz-flight --driver FILE [options]\n"
    "  --driver FILE     the emulator's libcuda\n"
    "  --seconds N       how long to search (10)\n"
    "  --seed N          of the search (1)\n"
    "  --streams HOW     late or late:SEED for all programs, in place of both in turn\n"
    "  --processes N     2: some programs open memory of a second process (1)\n"
    "  --find RULE       look for a program of which this rule is found, in place of one that\n"
    "                    disagrees with the reference; RULE:kernel: of the launch of a kernel\n"
    "  --replay FILE     run a program text once\n"
    "  --output FOLDER   where findings go (.)\n"
    "exit code: 0 all agreed, 1 a finding, 2 a mistake in the arguments, 3 no driver\n";

struct Arguments {
  std::string driver, replay, output = ".";
  std::optional<Rule> find;
  bool of_a_kernel = false;
  HuntOptions hunt;
};

std::optional<Arguments> parse(int argc, char** argv) {
  Arguments out;
  double seconds = 10;
  std::string find;
  const bool good = take_options(
      argc, argv,
      {option("--driver", out.driver),
       option("--seconds", seconds),
       option("--seed", out.hunt.seed),
       option("--streams", out.hunt.streams),
       {"--processes", [&](const char* value) { out.hunt.processes = std::atoi(value); }},
       option("--replay", out.replay),
       option("--output", out.output),
       option("--find", find)});
  if (!good) return std::nullopt;
  out.hunt.time = std::chrono::milliseconds(static_cast<long>(1000 * seconds));
  if (!find.empty()) {
    out.of_a_kernel = find.ends_with(":kernel");
    out.find = find_rule(find.substr(0, find.find(':')));
    if (!out.find || !is_flight(*out.find)) return std::nullopt;
  }
  return out.driver.empty() ? std::nullopt : std::optional(out);
}

int replay(const Target& target, const Arguments& arguments) {
  const std::optional<std::string> text = file_content(arguments.replay);
  if (!text) return 2;
  const std::string streams = arguments.hunt.streams.empty() ? "late" : arguments.hunt.streams;
  const Result result = run_alone(target, *text, streams);
  std::cout << annotated(*text, result);
  if (result.stopped) std::cout << "# the work " << (result.faulted ? "failed\n" : "went well\n");
  if (result.problem.empty()) return 0;
  std::cout << "finding: " << result.problem << "\n";
  return 1;
}

int search(const Target& target, const Arguments& arguments) {
  const Wanted wanted = [&](const Result& result) -> std::string {
    if (!arguments.find || !result.problem.empty()) return disagreement_of(result);
    for (const Rule rule : arguments.of_a_kernel ? result.of_kernels : result.found) {
      if (rule == *arguments.find) return std::string(info(rule).id) + " is found";
    }
    return {};
  };
  const Hunted found = hunt(target, arguments.hunt, wanted);
  std::printf(
      "%llu programs, %llu calls, %llu took memory from work, which then failed %llu times\n",
      static_cast<unsigned long long>(found.programs), static_cast<unsigned long long>(found.calls),
      static_cast<unsigned long long>(found.robbed),
      static_cast<unsigned long long>(found.faulted));
  if (found.what.empty()) return 0;
  std::printf("found after %.1f s: %s\n", found.seconds, found.what.c_str());
  // Written down before the shortening, which takes long, and may be interrupted.
  const std::string stem = arguments.output + "/flight-" + std::to_string(arguments.hunt.seed) +
                           "-" + fingerprint(found.what);
  std::ofstream(stem + "-whole.cuvmm") << annotated(found.text, found.result);
  std::printf("the program as it was found: %s-whole.cuvmm, --streams %s\n", stem.c_str(),
              found.streams.c_str());
  std::fflush(stdout);
  const Shortened less = shorten(target, found, wanted);
  std::printf("shrunk from %zu to %zu ops by %u tries\n", calls_in(found.text), calls_in(less.text),
              less.tries);
  const Result again = run_alone(target, less.text, less.streams);
  const std::string file = stem + ".cuvmm";
  const std::string text = annotated(less.text, again);
  std::ofstream(file) << text;
  std::printf("finding: %s\n\n%s\nreplay: cuvmm-fuzz-flight --driver %s --streams %s --replay %s\n",
              less.what.c_str(), text.c_str(), arguments.driver.c_str(), less.streams.c_str(),
              file.c_str());
  return 1;
}

int run_main(int argc, char** argv) {
  const auto arguments = parse(argc, argv);
  if (!arguments) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  Target target = open_target(arguments->driver);
  target.quiet = arguments->replay.empty();
  const bool emulated = target.driver.error.empty() && target.driver.emulated;
  if (!emulated) {
    const std::string& why = target.driver.error;
    std::fprintf(stderr, "cuvmm-fuzz-flight: %s\n",
                 why.empty() ? "programs are run on the emulator alone" : why.c_str());
    return 3;
  }
  return arguments->replay.empty() ? search(target, *arguments) : replay(target, *arguments);
}

}  // namespace
}  // namespace cuvmm::fuzz::flight

int main(int argc, char** argv) { return cuvmm::fuzz::flight::run_main(argc, argv); }
