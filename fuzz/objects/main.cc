// SPDX-License-Identifier: Apache-2.0
// cuvmm-fuzz-objects: searches with programs about arrays, graphs, modules and libraries.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <optional>

#include "fuzz/finding/fingerprint.h"
#include "fuzz/objects/mistakes.h"
#include "fuzz/objects/search.h"
#include "fuzz/search/command_line.h"
#include "fuzz/search/sanitizer_options.h"

namespace cuvmm::fuzz::objects {
namespace {

constexpr char kUsage[] =
    "usage: cuvmm-fuzz-objects --driver FILE [options]\n"
    "  --driver FILE    the emulator's libcuda, or the shim's with CUVMM_DRIVER=EMULATOR\n"
    "  --seconds N      how long to search (10)\n"
    "  --programs N     how many programs at most (no limit)\n"
    "  --seed N         of the search (1)\n"
    "  --replay FILE    run a program text once\n"
    "  --mistake NAME   put a deliberate mistake in front of the driver; an unknown name lists "
    "them\n"
    "  --output FOLDER  where findings go (.)\n"
    "exit code: 0 all agreed, 1 a finding, 2 a mistake in the arguments, 3 no driver\n";

struct Arguments {
  std::string driver, replay, mistake, output = ".";
  std::uint64_t seed = 1;
  std::uint64_t programs = Limits{}.programs;
  double seconds = 10;
};

int replay(const Functions& driver, const std::string& path) {
  const auto text = file_content(path);
  if (!text) return 2;
  const auto ops = parse(*text);
  if (!ops) {
    std::fprintf(stderr, "%s: no program about objects\n", path.c_str());
    return 2;
  }
  const Result result = run_alone(driver, *ops);
  std::cout << result.text;
  if (result.problem.empty()) return 0;
  std::cout << "finding: " << result.problem << "\n";
  return 1;
}

int search(const Functions& driver, const Arguments& arguments) {
  const auto time = std::chrono::milliseconds(static_cast<long>(1000 * arguments.seconds));
  const Found found = search(driver, arguments.seed, {time, arguments.programs});
  std::printf(
      "%llu programs, %llu calls, %llu %% succeeded\n",
      static_cast<unsigned long long>(found.programs), static_cast<unsigned long long>(found.calls),
      static_cast<unsigned long long>(found.calls ? 100 * found.succeeded / found.calls : 0));
  if (found.result.problem.empty()) return 0;
  const std::string kind = kind_of(found.result.problem);
  std::printf("found after %.1f s: %s\n", found.seconds, kind.c_str());
  std::fflush(stdout);
  const Shortened less = shorten(driver, found);
  std::printf("shrunk from %zu to %zu ops by %u tries\n", found.ops.size(), less.ops.size(),
              less.tries);
  const std::string file = arguments.output + "/objects-" + std::to_string(arguments.seed) + "-" +
                           fingerprint(kind) + ".txt";
  std::string text;
  for (const Op& op : less.ops) text += text_of(op) + "\n";
  std::ofstream(file) << text;
  std::printf("finding: %s\n\n%s\nreplay: cuvmm-fuzz-objects --driver %s --replay %s\n",
              less.result.problem.c_str(), less.result.text.c_str(), arguments.driver.c_str(),
              file.c_str());
  return 1;
}

int run_main(int argc, char** argv) {
  Arguments arguments;
  const bool good =
      take_options(argc, argv,
                   {option("--driver", arguments.driver), option("--seconds", arguments.seconds),
                    option("--programs", arguments.programs), option("--seed", arguments.seed),
                    option("--replay", arguments.replay), option("--output", arguments.output),
                    option("--mistake", arguments.mistake)});
  if (!good || arguments.driver.empty()) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  Functions driver = load_functions(arguments.driver);
  if (!driver.error.empty()) {
    std::fprintf(stderr, "cuvmm-fuzz-objects: %s\n", driver.error.c_str());
    return 3;
  }
  if (!arguments.mistake.empty()) {
    driver = with_mistake(driver, arguments.mistake);
    if (!driver.error.empty()) {
      std::fprintf(stderr, "cuvmm-fuzz-objects: %s; there are\n", driver.error.c_str());
      for (const Mistake& each : mistakes())
        std::fprintf(stderr, "  %-17s %s\n", each.name, each.says);
      return 2;
    }
  }
  return arguments.replay.empty() ? search(driver, arguments) : replay(driver, arguments.replay);
}

}  // namespace
}  // namespace cuvmm::fuzz::objects

int main(int argc, char** argv) { return cuvmm::fuzz::objects::run_main(argc, argv); }
