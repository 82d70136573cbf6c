// SPDX-License-Identifier: Apache-2.0
#include "tools/run/thread_past.h"

#include <algorithm>
#include <string_view>

namespace cuvmm::tools {

namespace {

using ring::CallSeen;

bool is_idle(const ring::Reading& calls, const Death& death, std::uint32_t thread) {
  if (calls.calls.empty()) return false;
  // What was overwritten is older than all that is there.
  std::uint64_t ago = calls.calls.front().ns;
  for (const CallSeen& call : calls.calls) {
    if (call.thread == thread) ago = call.ns;
  }
  const std::uint64_t more = death.ns > calls.last_ns ? death.ns - calls.last_ns : 0;
  return ago + more >= kIdleNs;
}

// Of the calls that findings number, each is among those that are kept, so as many of these came
// later at least.
bool went_on(const ring::Reading& calls, const Death& death, std::uint32_t thread,
             std::uint64_t number) {
  const std::uint64_t later = death.last_number - std::min(number, death.last_number);
  const std::uint64_t first = calls.total_calls - std::min(later, calls.total_calls);
  bool made = false;
  for (const CallSeen& call : calls.calls) {
    if (call.sequence <= first || call.thread != thread) continue;
    const ring::EntrySeen* const entry = calls.entry(call);
    if (!entry || call.end != CallSeen::End::kReturned || call.result != 0) continue;
    const std::string_view name = entry->name;
    if (made && (name == "cuMemMap" || name == "cuMemRelease")) return true;
    made = made || name == "cuMemCreate";
  }
  return false;
}

}  // namespace

bool gave_up(const ring::Reading& calls, const Death& death, std::uint32_t thread,
             std::uint64_t number) {
  const bool busy = std::any_of(calls.pending.begin(), calls.pending.end(),
                                [&](const CallSeen& call) { return call.thread == thread; });
  return !busy && (is_idle(calls, death, thread) || went_on(calls, death, thread, number));
}

}  // namespace cuvmm::tools
