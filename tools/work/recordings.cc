// SPDX-License-Identifier: Apache-2.0
#include "tools/work/recordings.h"

#include <algorithm>
#include <sstream>

#include "tools/base/temporary_folder.h"
#include "tools/work/child.h"

namespace cuvmm::tools {

namespace {

constexpr const char* kCalls = "20000";  // an H200 takes some seconds for them

// cuvmm-fuzz-record prints "COUNT x KIND" for each kind of difference, and behind it either
// "  permitted: REASON" or a program that shows it.
UnitResult judge(const std::string& unit, const std::string& output) {
  UnitResult result{unit, "agreed", "", {}, ""};
  std::istringstream lines(output);
  std::string kind;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t times = line.find(" x ");
    const bool begins =
        times != std::string::npos && times > 0 && line.find_first_not_of("0123456789") == times;
    if (begins) {
      kind = line.substr(times + 3);
    } else if (!kind.empty()) {
      if (line.rfind("  permitted: ", 0) != 0) result.answers.push_back(kind);
      kind.clear();
    }
  }
  // cuvmm-fuzz-record sorts them by count, which differs from run to run.
  std::sort(result.answers.begin(), result.answers.end());
  return result;
}

}  // namespace

std::string run_recordings(const WorkTarget& target, const std::vector<std::string>& units,
                           const Done& done) {
  const std::string program = target.programs + "/cuvmm-fuzz-record";
  if (std::string problem = missing_program(program); !problem.empty()) return problem;
  if (target.emulator.empty()) return "recordings are compared with the emulator: there is none";
  const std::string permitted = program + ".permitted";
  for (const std::string& unit : units) {
    const TemporaryFolder folder;
    if (folder.path().empty()) return folder.problem();
    const std::string file = folder.path() + "/recording";
    const ChildEnd recorded =
        run_child({program, "--driver", target.driver, "--output", file, "--calls", kCalls,
                   "--seed", std::to_string(seed_of(unit))},
                  {});
    if (recorded.code != 0) return "cuvmm-fuzz-record: " + recorded.output;
    const ChildEnd compared = run_child(
        {program, "--driver", target.emulator, "--compare", file, "--permitted", permitted},
        {"CUVMM_MUTATION="});  // a test's mutation is for the driver only
    constexpr int kDiffers = 1;
    if (compared.code != 0 && compared.code != kDiffers)
      return "cuvmm-fuzz-record: " + compared.output;
    UnitResult result = judge(unit, compared.output);
    if (compared.code == kDiffers) {
      result.status = "differs";
      result.finding = "the emulator answers otherwise" +
                       (result.answers.empty() ? "" : ": " + result.answers[0]);
    }
    if (!done({result})) break;
  }
  return "";
}

}  // namespace cuvmm::tools
