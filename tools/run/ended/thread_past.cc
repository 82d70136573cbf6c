// SPDX-License-Identifier: Apache-2.0
#include "tools/run/ended/thread_past.h"

#include <cuda.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>

namespace cuvmm::tools {

namespace {

using last_calls::CallSeen;

// Between a create and its map, a thread makes a few calls, or some hundreds.
constexpr std::size_t kManyCalls = 1024;

bool about_memory(const last_calls::Reading& calls, const CallSeen& call) {
  constexpr std::string_view kNames[] = {"cuMemCreate",         "cuMemMap",
                                         "cuMemSetAccess",      "cuMemUnmap",
                                         "cuMemRelease",        "cuMemRetainAllocationHandle",
                                         "cuMemAddressReserve", "cuMemExportToShareableHandle",
                                         "cuMemAddressFree",    "cuMemImportFromShareableHandle",
                                         "cuMulticastBindMem",  "cuMulticastBindMem_v2",
                                         "cuMemMapArrayAsync"};
  const last_calls::EntrySeen* const entry = calls.entry(call);
  return !entry || std::find(std::begin(kNames), std::end(kNames), entry->name) != std::end(kNames);
}

// Whether the looks saw the process's first thread make no call about memory for long enough,
// without the time in which the thread waited for a processor.
bool seen_idle(std::uint64_t last_ns, const std::vector<ThreadLook>& looks) {
  const auto first = std::find_if(looks.begin(), looks.end(),
                                  [&](const ThreadLook& l) { return l.ns >= last_ns; });
  if (first == looks.end()) return false;
  const ThreadLook& last = looks.back();
  return last.ns - first->ns >= kIdleAwakeNs + (last.waited_ns - first->waited_ns);
}

// Whether the thread had been idle for long: after `last_ns` it made no call about memory.
LastWork idle_since(std::uint64_t last_ns, std::uint64_t known_ns, std::uint32_t thread,
                    const Death& death) {
  // A stopped process cannot make a call.
  last_ns = std::max(last_ns, death.end.stopped_ns);
  const auto since = [&](std::uint64_t ns) { return ns - std::min(ns, last_ns); };
  if (since(std::max(death.end.ns, known_ns)) >= kIdleNs) return LastWork::kGaveUp;
  if (thread == death.first_thread && seen_idle(last_ns, death.end.looks)) return LastWork::kGaveUp;
  const bool known = death.end.latest_ns != 0 && since(death.end.latest_ns) < kIdleNs;
  if (!known) return LastWork::kUnknown;
  return death.cut ? LastWork::kUnsure : LastWork::kAtWork;
}

// Whether the thread had made only other calls for long.
LastWork does_other_things(const last_calls::Reading& calls, const Death& death,
                           std::uint32_t thread) {
  if (calls.calls.empty()) return LastWork::kUnknown;
  // Calls that the ring has overwritten are older than all calls in it.
  std::uint64_t ago = calls.calls.front().ns;
  std::size_t others = 0;
  bool was_ended = false;  // a call reported the driver's end: the thread may wait since then, and
                           // still use its memory
  for (const CallSeen& call : calls.calls) {
    if (call.thread != thread) continue;
    ++others;
    was_ended = call.end == CallSeen::End::kReturned && call.result == CUDA_ERROR_DEINITIALIZED;
    if (!about_memory(calls, call)) continue;
    ago = call.ns;
    others = 0;
  }
  if (was_ended) return LastWork::kAtWork;
  if (others >= kManyCalls) return LastWork::kGaveUp;
  return idle_since(calls.last_ns - std::min(ago, calls.last_ns), calls.last_ns, thread, death);
}

// Whether the thread ended the program itself: no other thread made a call.
bool ended_it(const last_calls::Reading& calls, const Death& death, std::uint32_t thread) {
  return death.by_itself && thread == death.first_thread && !calls.calls.empty() &&
         std::all_of(calls.calls.begin(), calls.calls.end(),
                     [&](const CallSeen& call) { return call.thread == thread; });
}

// Every call that findings number also has a sequence, so at least death.last_number - number calls
// came later.
bool went_on(const last_calls::Reading& calls, const Death& death, std::uint32_t thread,
             std::uint64_t number) {
  const std::uint64_t later = death.last_number - std::min(number, death.last_number);
  const std::uint64_t first = calls.total_calls - std::min(later, calls.total_calls);
  const bool noted = std::any_of(calls.threads.begin(), calls.threads.end(), [&](const auto& seen) {
    return seen.thread == thread && seen.gone_on > first;
  });
  if (noted) return true;
  bool made = false;
  for (const CallSeen& call : calls.calls) {
    if (call.sequence <= first || call.thread != thread) continue;
    const last_calls::EntrySeen* const entry = calls.entry(call);
    if (!entry || call.end != CallSeen::End::kReturned || call.result != 0) continue;
    const std::string_view name = entry->name;
    if (made && (name == "cuMemMap" || name == "cuMemRelease")) return true;
    made = made || name == "cuMemCreate";
  }
  return false;
}

}  // namespace

LastWork last_work(const last_calls::Reading& calls, const Death& death, std::uint32_t thread,
                   std::uint64_t number, std::uint64_t value) {
  bool busy = false, with_it = false;
  for (const CallSeen& call : calls.pending) {
    if (call.thread != thread || !about_memory(calls, call)) continue;
    busy = true;
    with_it = with_it || std::find(call.words.begin(), call.words.end(), value) != call.words.end();
  }
  if (with_it) return LastWork::kAtWork;
  if (went_on(calls, death, thread, number)) return LastWork::kGaveUp;
  if (busy) return LastWork::kAtWork;
  if (ended_it(calls, death, thread)) return LastWork::kGaveUp;
  if (death.own_thread != 0 && thread == death.own_thread) return LastWork::kGaveUp;
  return does_other_things(calls, death, thread);
}

}  // namespace cuvmm::tools
