// SPDX-License-Identifier: Apache-2.0
#include "recorder/last_calls/text.h"

#include <cuda.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "api/driver/driver.h"
#include "api/words.h"

namespace cuvmm::last_calls {

namespace {

constexpr std::size_t kMostEnds = 5;
constexpr std::size_t kMostLaunches = 3;

// Replaces control characters, because a damaged file may hold commands for a terminal.
std::string printable(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = '?';
  }
  return text;
}

bool contains(std::uint64_t base, std::uint64_t size, std::uint64_t address) {
  return address >= base && address - base < std::max<std::uint64_t>(size, 1);
}

// Whether the call queues work that may use memory: kernels, graphs, copies and fills.
bool launches(std::string_view name) {
  for (const char* begin :
       {"cuLaunchKernel", "cuLaunchCooperative", "cuGraphLaunch", "cuMemcpy", "cuMemset"}) {
    if (name.starts_with(begin)) return true;
  }
  return false;
}

std::string since_text(std::uint64_t count) {
  if (count == 0) return "nothing was queued";
  return count == 1 ? "1 kernel or copy was queued"
                    : std::to_string(count) + " kernels and copies were queued";
}

std::string ended_text(const Reading& reading, const EndSeen& end, const Moment& moment) {
  std::string text = "ended ";
  const CallSeen* const call = reading.call(end.call);
  if (call) text += "by " + call_text(reading, *call) + ", ";
  return text + before_text(moment, end.call, end.ns);
}

// Objects that hold bytes come before objects that only hold addresses.
int weight(ObjectKind kind) {
  if (kind >= ObjectKind::kGuardBefore) return 2;
  return kind == ObjectKind::kReservation ? 1 : 0;
}

bool has_address(ObjectKind kind) {
  return kind != ObjectKind::kAllocation && kind != ObjectKind::kPool &&
         kind != ObjectKind::kExternalMemory && kind != ObjectKind::kUnknown;
}

// Names the reservation that the guard belongs to, if it is known.
std::string guarded_text(const Reading& reading, const LiveSeen& guard) {
  const bool behind = guard.kind == ObjectKind::kGuardBehind;
  for (const LiveSeen& live : reading.live) {
    if (live.kind != ObjectKind::kReservation && live.kind != ObjectKind::kQuarantined) continue;
    const std::uint64_t edge = behind ? live.base + live.size : live.base;
    if (edge != (behind ? guard.base : guard.base + guard.size)) continue;
    std::string text = object_text(live.kind, live.base, live.size, -1);
    if (live.made != 0) text += ", which call " + std::to_string(live.made) + " made";
    return text;
  }
  return "a reservation";
}

// Explains why the program may not use an address in such an object.
std::string forbidden_text(const Reading& reading, const LiveSeen& live, std::uint64_t address) {
  switch (live.kind) {
    case ObjectKind::kGuardBefore:
      return " lies " + size_text(live.base + live.size - address) + " before the start of " +
             guarded_text(reading, live) + ": in the guard that --guard put there";
    case ObjectKind::kGuardBehind:
      return " lies " + size_text(address - live.base) + " past the end of " +
             guarded_text(reading, live) + ": in the guard that --guard put there";
    default:
      return " lies in the range of " + object_text(live.kind, live.base, live.size, -1) +
             ", at its byte " + std::to_string(address - live.base) +
             ": --quarantine keeps it from being reserved again";
  }
}

}  // namespace

std::string call_text(const Reading& reading, const CallSeen& call) {
  const EntrySeen* const entry = reading.entry(call);
  if (!entry || entry->name.empty()) return "entry point " + std::to_string(call.entry) + "(...)";
  std::string text = printable(entry->name) + "(";
  for (std::size_t i = 0; i < entry->words.size(); ++i) {
    const std::uint64_t word = call.words[i];
    const WordKind kind = entry->kinds[i];
    text += (i ? ", " : "") + printable(entry->words[i]) + "=";
    text += kind == WordKind::kSize     ? number_text(word)
            : kind == WordKind::kNumber ? std::to_string(word)
                                        : hex_text(word);
  }
  return text + ")";
}

std::string end_text(const CallSeen& call) {
  switch (call.end) {
    case CallSeen::End::kPending:
      return "has not returned";
    case CallSeen::End::kUnwound:
      return "its thread was cancelled in it";
    case CallSeen::End::kReturned:
      return result_name(static_cast<CUresult>(call.result));
    case CallSeen::End::kUnknown:
      break;
  }
  return "its result is not known";
}

std::string object_text(ObjectKind kind, std::uint64_t base, std::uint64_t size, int device) {
  std::string text = std::string(name(kind)) + " " + hex_text(base);
  if (size != 0) text += " (" + size_text(size) + ")";
  if (device >= 0) text += " of device " + std::to_string(device);
  return text;
}

std::string time_text(std::uint64_t ns) {
  struct Unit {
    double size;
    const char* name;
  };
  constexpr Unit kUnits[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}};
  char text[64];
  for (const Unit& unit : kUnits) {
    if (static_cast<double>(ns) < unit.size) continue;
    std::snprintf(text, sizeof text, "%.3g %s", static_cast<double>(ns) / unit.size, unit.name);
    // %.3g would print 1.23e+04 s.
    if (static_cast<double>(ns) >= unit.size * 1000)
      std::snprintf(text, sizeof text, "%.0f %s", static_cast<double>(ns) / unit.size, unit.name);
    return text;
  }
  return std::to_string(ns) + " ns";
}

Moment last_moment(const Reading& reading) {
  if (reading.fault_result != 0) return {reading.fault_call, reading.fault_ns};
  return {reading.total_calls, 0};
}

std::string before_text(const Moment& moment, std::uint64_t call, std::uint64_t ns) {
  std::string time = ns > moment.ns ? time_text(ns - moment.ns) + " before" : "at that time";
  if (call == 0 || call > moment.call) return time;
  return count_text(moment.call - call, "call") + ", " + time;
}

std::vector<const EndSeen*> last_ends(const Reading& reading, const Moment& moment,
                                      std::size_t most) {
  std::vector<const EndSeen*> ends;
  for (auto end = reading.ends.rbegin(); end != reading.ends.rend() && ends.size() < most; ++end) {
    if (end->call <= moment.call && has_address(end->kind)) ends.push_back(&*end);
  }
  return ends;
}

std::vector<const CallSeen*> last_launches(const Reading& reading, const Moment& moment) {
  std::vector<const CallSeen*> found;
  for (auto call = reading.calls.rbegin(); call != reading.calls.rend(); ++call) {
    const EntrySeen* const entry = reading.entry(*call);
    if (call->sequence <= moment.call && entry && launches(entry->name)) found.push_back(&*call);
  }
  return found;
}

std::vector<std::string> near_address(const Reading& reading, std::uint64_t address) {
  constexpr std::uint64_t kNear = std::uint64_t{1} << 30;
  const Moment moment = last_moment(reading);
  const std::string at = hex_text(address);
  std::vector<std::string> lines;
  const LiveSeen* below = nullptr;
  std::vector<const LiveSeen*> around;
  for (const LiveSeen& live : reading.live) {
    if (!has_address(live.kind)) continue;
    if (contains(live.base, live.size, address)) around.push_back(&live);
    const bool before = live.base < address && weight(live.kind) == 0;
    if (before && (!below || live.base + live.size > below->base + below->size)) below = &live;
  }
  std::ranges::stable_sort(around, {}, [](const LiveSeen* live) { return weight(live->kind); });
  for (const LiveSeen* live : around) {
    if (live->kind >= ObjectKind::kGuardBefore) {
      lines.push_back(at + forbidden_text(reading, *live, address));
      continue;
    }
    lines.push_back(at + " lies in " +
                    object_text(live->kind, live->base, live->size, live->device) +
                    ", which lived then: at its byte " + std::to_string(address - live->base));
  }
  std::size_t ended = 0;
  for (auto end = reading.ends.rbegin(); end != reading.ends.rend() && ended < 3; ++end) {
    if (!has_address(end->kind) || !contains(end->base, end->size, address)) continue;
    ++ended;
    lines.push_back(at + " lies in what was " +
                    object_text(end->kind, end->base, end->size, end->device) + ": " +
                    ended_text(reading, *end, moment));
  }
  if (lines.empty() && below && address - below->base - below->size < kNear) {
    lines.push_back(
        at + " lies " + size_text(address - below->base - below->size) + " behind the end of " +
        object_text(below->kind, below->base, below->size, below->device) + ", which lived then");
  }
  if (lines.empty()) lines.push_back(at + " lies in nothing that cuvmm has seen");
  return lines;
}

const char* fault_words(std::uint32_t result) {
  switch (result) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
      return "a kernel or a copy used an address that it may not";
    case CUDA_ERROR_MISALIGNED_ADDRESS:
      return "a kernel used an address that is not aligned as it must be";
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
      return "a kernel used an address outside of the space that the instruction is for";
    case CUDA_ERROR_LAUNCH_TIMEOUT:
      return "a kernel took longer than it may";
    default:
      return "a kernel, a fill or a copy failed while it ran";
  }
}

std::string explanation_text(const Reading& reading, const Symbolizer& symbolize,
                             const std::string& indent) {
  const Moment moment = last_moment(reading);
  std::string text;
  if (reading.address) {
    for (const std::string& line : near_address(reading, *reading.address))
      text += indent + line + "\n";
  }
  const auto launched = last_launches(reading, moment);
  const auto ends = last_ends(reading, moment, kMostEnds);
  text += indent + (ends.empty() ? "no memory and no addresses were given up before\n"
                                 : "given up last, the newest first:\n");
  for (const EndSeen* end : ends) {
    text += indent + "  " + object_text(end->kind, end->base, end->size, end->device) + ", " +
            ended_text(reading, *end, moment);
    const auto since = std::ranges::count_if(
        launched, [&](const CallSeen* call) { return call->sequence > end->call; });
    text += "; " + since_text(static_cast<std::uint64_t>(since)) + " since\n";
    for (const std::string& line : symbolize(end->frames)) {
      text += indent + "    " + printable(line) + "\n";
    }
  }
  if (!launched.empty()) text += indent + "queued last, the newest first:\n";
  for (std::size_t i = 0; i < launched.size() && i < kMostLaunches; ++i) {
    const CallSeen& call = *launched[i];
    text += indent + "  " + call_text(reading, call) + ", " +
            before_text(moment, call.sequence, call.ns) + "\n";
  }
  return text;
}

}  // namespace cuvmm::last_calls
