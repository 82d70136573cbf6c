// SPDX-License-Identifier: Apache-2.0
// The leaks of the process when it ends.
#include <chrono>
#include <optional>

#include "shim/base/reserve.h"
#include "shim/end/sleepers.h"
#include "shim/process/process.h"

namespace cuvmm::shim {

namespace {

constexpr std::chrono::milliseconds kPatienceForModel{5000};

// check_exit() takes a plain function; the session's lock is held while the function runs.
bool descriptor_open(const Export& exported) {
  return Process::get().session().still_exported(exported);
}

}  // namespace

void Process::judge_leaks(bool exits) {
  Opened* const open = opened_.load();
  if (!open) return leaks_judged_.store(true);
  if (options_.leak_check == LeakCheck::kNo) return;
  if ((!exits && !died_in_exit_) || open->session.off()) return;
  find_leaks(open->session);
}

void Process::find_leaks(Session& session) {
  const bool interrupted = t_state.care == Care::kAsInterrupted && !died_in_exit_;
  std::optional<Violations> leaks =
      session.leaks(kPatienceForModel, &descriptor_open, interrupted, &undecided_);
  if (leaks && !undecided_.empty()) {
    std::vector<std::uint32_t> asleep = sleepers();
    if (session.driver_ended()) asleep.clear();
    undecided_.clear();
    leaks = session.leaks(kPatienceForModel, &descriptor_open, interrupted, &undecided_, asleep);
  }
  if (!leaks) {
    // `cuvmm run` looks for leaks in the file that shows the process's objects.
    if (!options_.judged) {
      note("leaks were not looked for: the process ended in the middle of a call");
    }
    return;
  }
  leaks_judged_.store(true);
  for (const Violation& leak : *leaks) {
    if (labels_.told(leak)) continue;  // cuvmm_leaks() has reported it already
    Finding finding;
    finding.violation = leak;
    if (!leak.objects.empty()) {
      finding.stack = leak.objects.front().made.stack;
      finding.memory = session.memory_of(leak.objects.front());
    }
    ledger_->take(std::move(finding));
  }
}

}  // namespace cuvmm::shim
