// SPDX-License-Identifier: Apache-2.0
// The settings of a campaign of `cuvmm fail --each`, and its parts.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tools/base/json.h"
#include "tools/run/run_settings.h"

namespace cuvmm::tools {

struct CampaignSettings {
  RunSettings run;                 ///< the program, and the options of each run
  bool all = false;                ///< tries each call of a place, not only the first
  int jobs = 0;                    ///< runs at a time; 0: one for each core
  double timeout_s = 0;            ///< seconds for one run; 0: follows from the plain runs
  int plain_exit = 0;              ///< exit code of the program without failures
  std::vector<std::string> calls;  ///< patterns of functions; empty: all but those that end objects
  std::string json, junit;         ///< paths of files; "": none
  std::string resume;              ///< file that keeps the trials made so far; "": none
  bool minimise = false;
  bool fork_server = false;  ///< the program starts once, and forks for each run
};

/// One run to make.
struct Job {
  RunSettings run;  ///< without output files, which the runner chooses
  std::vector<std::pair<std::string, std::string>> environment;  ///< variables to add
};

/// Sorted from the most harmless to the most harmful.
enum class Verdict { kClean, kHandled, kWrongExit, kLeak, kFinding, kHang, kCrash };
/// "clean", "handled", "wrong-exit", "leak", "finding", "hang", "crash".
inline const char* verdict_name(Verdict verdict) {
  constexpr const char* kNames[] = {"clean",   "handled", "wrong-exit", "leak",
                                    "finding", "hang",    "crash"};
  return kNames[static_cast<int>(verdict)];
}
inline bool is_bad(Verdict verdict) { return verdict > Verdict::kHandled; }

struct Judgement {
  Verdict verdict = Verdict::kClean;
  std::string what;  ///< one sentence that explains a bad verdict
};

/// A place in the program from which a function is called.
struct CallSite {
  std::string call, site, result;
  std::uint64_t calls = 0;
  Json stack = Json::array();
};

/// One run of the plan: a place, and which of its calls fail.
struct Experiment {
  std::size_t site = 0;      ///< index of its place
  std::uint64_t number = 1;  ///< number of the failing call of the place, from 1
  bool persistent = false;   ///< all later calls fail, too
  std::uint64_t until = 0;   ///< number of the last call that fails; 0: no limit
  std::string spec;          ///< for --fail
};

struct Trial {
  Experiment experiment;
  Judgement judgement;
  bool reached = true;  ///< the program made the call, and it failed
  double seconds = 0;
};

}  // namespace cuvmm::tools
