// SPDX-License-Identifier: Apache-2.0
#include "tools/run/ended/thread_past.h"

#include <cuda.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>

namespace cuvmm::tools {

namespace {

using ring::CallSeen;

// Between a create and the map that it is for, a thread makes a few calls, or some hundreds.
constexpr std::size_t kManyCalls = 1024;

bool about_memory(const ring::Reading& calls, const CallSeen& call) {
  constexpr std::string_view kNames[] = {"cuMemCreate",         "cuMemMap",
                                         "cuMemSetAccess",      "cuMemUnmap",
                                         "cuMemRelease",        "cuMemRetainAllocationHandle",
                                         "cuMemAddressReserve", "cuMemExportToShareableHandle",
                                         "cuMemAddressFree",    "cuMemImportFromShareableHandle",
                                         "cuMulticastBindMem",  "cuMulticastBindMem_v2",
                                         "cuMemMapArrayAsync"};
  const ring::EntrySeen* const entry = calls.entry(call);
  return !entry || std::find(std::begin(kNames), std::end(kNames), entry->name) != std::end(kNames);
}

// Whether the thread made no call about memory from that moment on for long.
bool is_idle_since(std::uint64_t last_ns, std::uint64_t end_ns, std::uint32_t thread,
                   const Death& death) {
  if (end_ns > last_ns && end_ns - last_ns >= kIdleNs) return true;
  const std::vector<ThreadLook>& looks = death.end.looks;
  if (thread != death.first_thread || looks.empty()) return false;
  const auto first = std::find_if(looks.begin(), looks.end(),
                                  [&](const ThreadLook& l) { return l.ns >= last_ns; });
  if (first == looks.end()) return false;
  const ThreadLook& last = looks.back();
  return last.ns - first->ns >= kIdleAwakeNs + (last.waited_ns - first->waited_ns);
}

// Whether it has done other things than that for long.
bool does_other_things(const ring::Reading& calls, const Death& death, std::uint32_t thread) {
  if (calls.calls.empty()) return false;
  // What was overwritten is older than all that is there.
  std::uint64_t ago = calls.calls.front().ns;
  std::size_t others = 0;
  bool told = false;  // that the driver has ended: it may wait since, with memory in its hands
  for (const CallSeen& call : calls.calls) {
    if (call.thread != thread) continue;
    ++others;
    told = call.end == CallSeen::End::kReturned && call.result == CUDA_ERROR_DEINITIALIZED;
    if (!about_memory(calls, call)) continue;
    ago = call.ns;
    others = 0;
  }
  const std::uint64_t last = calls.last_ns - std::min(ago, calls.last_ns);
  const std::uint64_t end = std::max(death.end.ns, calls.last_ns);
  return !told && (others >= kManyCalls || is_idle_since(last, end, thread, death));
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
  const bool busy = std::any_of(
      calls.pending.begin(), calls.pending.end(),
      [&](const CallSeen& call) { return call.thread == thread && about_memory(calls, call); });
  return !busy &&
         (does_other_things(calls, death, thread) || went_on(calls, death, thread, number));
}

}  // namespace cuvmm::tools
