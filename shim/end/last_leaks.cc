// SPDX-License-Identifier: Apache-2.0
// The leaks of the process when it ends.
#include <chrono>
#include <optional>
#include <string>

#include "shim/base/reserve.h"
#include "shim/driver/escape.h"
#include "shim/end/sleepers.h"
#include "shim/process/process.h"

namespace cuvmm::shim {

namespace {

constexpr std::chrono::milliseconds kPatienceForModel{5000};

// check_exit() takes a plain function; the session's lock is held while the function runs.
bool descriptor_open(const Export& exported) {
  return Process::get().session().still_exported(exported);
}

// The functions that end an object of this kind.
struct Ends {
  ObjectRef::Kind kind;
  const char* symbol;
  EntryPoint entry;
};
constexpr Ends kEnds[] = {
    {ObjectRef::Kind::kPoolMemory, "cuMemFreeAsync", EntryPoint::kMemFreeAsync},
    {ObjectRef::Kind::kPoolMemory, "cuMemFree_v2", EntryPoint::kMemFree},
    {ObjectRef::Kind::kMemory, "cuMemFree_v2", EntryPoint::kMemFree},
    {ObjectRef::Kind::kMemory, "cuMemFreeHost", EntryPoint::kMemFreeHost},
    {ObjectRef::Kind::kMemory, "cuMemHostUnregister", EntryPoint::kMemHostUnregister},
    {ObjectRef::Kind::kAllocation, "cuMemRelease", EntryPoint::kMemRelease},
    {ObjectRef::Kind::kRetained, "cuMemRelease", EntryPoint::kMemRelease},
    {ObjectRef::Kind::kMapping, "cuMemUnmap", EntryPoint::kMemUnmap},
    {ObjectRef::Kind::kReservation, "cuMemAddressFree", EntryPoint::kMemAddressFree},
    {ObjectRef::Kind::kPool, "cuMemPoolDestroy", EntryPoint::kMemPoolDestroy},
    {ObjectRef::Kind::kIpcMemory, "cuIpcCloseMemHandle", EntryPoint::kIpcCloseMemHandle},
    {ObjectRef::Kind::kArray, "cuArrayDestroy", EntryPoint::kArrayDestroy},
};

// A library before the shim has the function that would end the object, and cuvmm saw no call of
// it: the program may well have called that library.
void name_library_before(Session& session, Violation& leak) {
  if (leak.objects.empty()) return;
  for (const Ends& each : kEnds) {
    if (each.kind != leak.objects.front().kind || session.count(each.entry) != 0) continue;
    const std::string library = library_before(each.symbol);
    if (library.empty()) continue;
    const std::string function = name(each.entry);
    leak.message +=
        ". " + library + " comes before cuvmm and the driver with a " + function +
        " of its own, and no call of it has reached cuvmm or the driver: if the program "
        "calls " +
        function + ", that library answers, and the memory stays allocated";
    leak.fix = "Look at the results of the program's calls of " + function +
               ": a result that is no enumerator of CUresult, such as -1, comes from that library, "
               "because no driver answers so. Mend the library, so that it passes the call on, or "
               "run without it (LD_PRELOAD). If the program makes no such call, add it.";
    return;
  }
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
    asleep_ = sleepers();
    if (session.driver_ended()) asleep_.clear();
    undecided_.clear();
    leaks = session.leaks(kPatienceForModel, &descriptor_open, interrupted, &undecided_, asleep_);
  }
  if (!leaks) {
    // `cuvmm run` looks for leaks in the file that shows the process's objects.
    if (!options_.judged) {
      note("leaks were not looked for: the process ended in the middle of a call");
    }
    return;
  }
  leaks_judged_.store(true);
  for (Violation& leak : *leaks) {
    name_library_before(session, leak);
    if (labels_.was_reported(leak)) continue;  // cuvmm_leaks() has reported it already
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
