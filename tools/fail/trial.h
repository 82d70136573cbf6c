// SPDX-License-Identifier: Apache-2.0
// What a campaign of `cuvmm fail --each` is asked for, and what it is made of.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tools/base/json.h"
#include "tools/run/run_settings.h"

namespace cuvmm::tools {

struct CampaignSettings {
  RunSettings run;                 ///< how each run is made; its program
  bool all = false;                ///< each call, and not each place
  int jobs = 0;                    ///< at a time; 0: one for each core
  double timeout_s = 0;            ///< of one run; 0: by the plain run
  int plain_exit = 0;              ///< exit code of the program where nothing fails
  std::vector<std::string> calls;  ///< patterns of functions; empty: all but those that give up
  std::string json, junit;         ///< files, "" none
  std::string resume;              ///< file that keeps what is known, "" none
  bool minimise = false;
  bool fork_server = false;  ///< the program starts once, and forks for each run
};

/// One run that is wanted.
struct Job {
  RunSettings run;  ///< where it writes is the runner's choice
  std::vector<std::pair<std::string, std::string>> environment;  ///< that it gets beside ours
};

/// From the harmless to the harmful.
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
  std::string what;  ///< of a bad one: one sentence
};

/// A place in the program from which a function is called.
struct CallSite {
  std::string call, site, result;
  std::uint64_t calls = 0;
  Json stack = Json::array();
};

/// One run that is to be made.
struct Experiment {
  std::size_t site = 0;      ///< index of its place
  std::uint64_t number = 1;  ///< which call of the place
  bool persistent = false;   ///< and all later ones
  std::uint64_t until = 0;   ///< the last one that fails, where that is limited; 0: not
  std::string spec;          ///< for --fail
};

struct Trial {
  Experiment experiment;
  Judgement judgement;
  bool reached = true;  ///< the call came, and failed
  double seconds = 0;
};

}  // namespace cuvmm::tools
