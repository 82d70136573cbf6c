// SPDX-License-Identifier: Apache-2.0
#include "shim/end/fault_members.h"

#include "api/driver/driver.h"
#include "api/words.h"
#include "ring/text.h"
#include "shim/findings/finding_members.h"
#include "shim/output/json.h"

namespace cuvmm::shim {

namespace {

using Frames = std::vector<Frame> (*)(const std::vector<std::uint64_t>&);

constexpr std::size_t kMostEnds = 16;
constexpr std::size_t kMostQueued = 16;

void add_distance(std::string& out, const ring::Moment& moment, std::uint64_t call,
                  std::uint64_t ns) {
  if (call != 0 && call <= moment.call) add_number(out, "calls_before", moment.call - call);
  add_number(out, "ns_before", ns > moment.ns ? ns - moment.ns : 0);
}

void add_end(std::string& out, const ring::Reading& reading, const ring::EndSeen& end,
             Frames frames) {
  if (out.back() != '[') out += ',';
  out += '{';
  add_text(out, "what", ring::name(end.kind));
  add_text(out, "value", hex_text(end.base));
  if (end.size != 0) add_number(out, "size", end.size);
  if (end.device >= 0) add_number(out, "device", static_cast<std::uint64_t>(end.device));
  add_number(out, "made_by_call", end.made);
  add_number(out, "ended_by_call", end.ended);
  if (const ring::CallSeen* call = reading.call(end.call)) {
    add_text(out, "call", ring::call_text(reading, *call));
  }
  add_distance(out, ring::last_moment(reading), end.call, end.ns);
  add_frames(out, "stack", end.frames.empty() ? std::vector<Frame>{} : frames(end.frames));
  out += '}';
}

}  // namespace

std::string fault_members(const ring::Reading& reading, const std::vector<Frame>& stack,
                          Frames frames, const std::string& file) {
  const ring::Moment moment = ring::last_moment(reading);
  const ring::CallSeen* const seen_at = reading.call(reading.fault_call);
  std::string out = "{";
  add_text(out, "result", result_name(static_cast<CUresult>(reading.fault_result)));
  add_text(out, "message", ring::fault_words(reading.fault_result));
  add_text(out, "call", seen_at ? ring::call_text(reading, *seen_at) : "");
  if (seen_at) add_number(out, "thread", seen_at->thread);
  add_frames(out, "stack", stack);
  if (reading.address) {
    add_text(out, "address", hex_text(*reading.address));
    add_key(out, "near");
    out += '[';
    for (const std::string& line : ring::near_address(reading, *reading.address)) {
      out += (out.back() == '[' ? "" : ",") + json_string(line);
    }
    out += ']';
  }
  add_key(out, "ended");
  out += '[';
  for (const ring::EndSeen* end : ring::last_ends(reading, moment, kMostEnds)) {
    add_end(out, reading, *end, frames);
  }
  out += ']';
  add_key(out, "queued");
  out += '[';
  std::size_t left = kMostQueued;
  for (const ring::CallSeen* call : ring::last_launches(reading, moment)) {
    if (left-- == 0) break;
    out += out.back() == '[' ? "{" : ",{";
    add_text(out, "call", ring::call_text(reading, *call));
    add_distance(out, moment, call->sequence, call->ns);
    out += '}';
  }
  out += ']';
  if (!file.empty()) add_text(out, "file", file);
  return out + "}";
}

}  // namespace cuvmm::shim
