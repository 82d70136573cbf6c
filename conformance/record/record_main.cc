// SPDX-License-Identifier: Apache-2.0
// cuvmm-record: runs the conformance cases on a libcuda and writes down the answers. Needs only
// libc, so that it can be copied to a GPU machine.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>

#include "conformance/record/record.h"
#include "conformance/suite/family_cases.h"

namespace {

constexpr const char kUsage[] =
    "usage: cuvmm-record [--driver PATH] [--output FILE] [--jobs N] [--timeout SECONDS]\n"
    "                    [--filter TEXT | --case NAME] [--families PATH] [--pairs] [--share] "
    "[--allow-multicast] [--list] "
    "[CASES...]\n"
    "\n"
    "Runs every case of the files or folders CASES on the libcuda at PATH (default libcuda.so.1), "
    "each in\n"
    "processes of its own, and writes the answers as JSON.\n"
    "\n"
    "--share lets cases share processes, where they can: for drivers that are slow to start.\n"
    "--allow-multicast lets what can make or use a multicast team (cuMulticast* and others)\n"
    "reach a real driver: on a shared fabric it can disturb others.\n"
    "--families adds the cases that follow from families; --pairs the calls that break two rules.\n"
    "\n"
    "  cuvmm-record --output h200.json conformance/cases --families conformance/families --pairs\n"
    "  cuvmm-record --driver build/release/lib/emulator/libcuda.so.1 --case map/ok "
    "conformance/cases\n";

struct Arguments {
  std::string driver = "libcuda.so.1";
  std::string output;
  bool list = false;
  bool pairs = false;
  std::vector<std::string> families;
  cuvmm::conformance::RecordOptions record;
  std::vector<std::string> paths;
};

bool parse(int argc, char** argv, Arguments& arguments) {
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--list" || option == "--process-ids") {
      (option == "--list" ? arguments.list : arguments.record.process_ids) = true;
      continue;
    }
    if (option == "--share") {
      arguments.record.share = true;
      continue;
    }
    if (option == "--allow-multicast") {
      arguments.record.allow_multicast = true;
      continue;
    }
    if (option == "--pairs") {
      arguments.pairs = true;
      continue;
    }
    if (option.rfind("--", 0) != 0) {
      arguments.paths.push_back(option);
      continue;
    }
    if (i + 1 == argc) return false;
    const char* value = argv[++i];
    if (option == "--driver") {
      arguments.driver = value;
    } else if (option == "--output") {
      arguments.output = value;
    } else if (option == "--families") {
      arguments.families.emplace_back(value);
    } else if (option == "--jobs") {
      arguments.record.jobs = std::atoi(value);
    } else if (option == "--timeout") {
      arguments.record.run.timeout = std::chrono::seconds(std::atoi(value));
    } else if (option == "--filter" || option == "--case") {
      arguments.record.name_filter = value;
      arguments.record.exact = option == "--case";
    } else {
      return false;
    }
  }
  return !arguments.paths.empty() || !arguments.families.empty();
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  // If a checker is preloaded, the processes must end normally, so that the checker writes its
  // report.
  arguments.record.run.normal_exit = true;
  if (!parse(argc, argv, arguments)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  cuvmm::conformance::ParsedCases parsed = cuvmm::conformance::load_cases(arguments.paths);
  const cuvmm::conformance::LoadedFamilies loaded =
      cuvmm::conformance::load_families(arguments.families);
  parsed.errors.insert(parsed.errors.end(), loaded.errors.begin(), loaded.errors.end());
  const auto add = [&](std::vector<cuvmm::conformance::Case> cases) {
    std::move(cases.begin(), cases.end(), std::back_inserter(parsed.cases));
  };
  add(cuvmm::conformance::single_cases(loaded.families));
  if (arguments.pairs) add(cuvmm::conformance::pair_cases(loaded.families));
  for (const std::string& error : parsed.errors) std::fprintf(stderr, "%s\n", error.c_str());
  if (!parsed.errors.empty()) return 2;
  if (arguments.list) {
    for (const cuvmm::conformance::Case& test_case : parsed.cases)
      std::puts(test_case.name.c_str());
    return 0;
  }
  const auto result =
      cuvmm::conformance::record_cases(arguments.driver, parsed.cases, arguments.record);
  if (!result.error.empty()) {
    std::fprintf(stderr, "cuvmm-record: %s\n", result.error.c_str());
    return 1;
  }
  const std::string text = cuvmm::conformance::format_recording(result.recording);
  if (arguments.output.empty()) return std::fputs(text.c_str(), stdout) < 0;
  std::ofstream(arguments.output) << text;
  std::fprintf(stderr, "%zu cases recorded, %zu skipped: %s\n", result.recording.cases.size(),
               result.recording.skipped.size(), arguments.output.c_str());
  return 0;
}
