// SPDX-License-Identifier: Apache-2.0
#include "shim/end/fault_members.h"

#include "api/driver/driver.h"
#include "api/words.h"
#include "recorder/last_calls/text.h"
#include "shim/findings/finding_members.h"
#include "shim/output/json.h"

namespace cuvmm::shim {

namespace {

using Frames = std::vector<Frame> (*)(const std::vector<std::uint64_t>&);

constexpr std::size_t kMostEnds = 16;
constexpr std::size_t kMostQueued = 16;

void add_distance(std::string& out, const last_calls::Moment& moment, std::uint64_t call,
                  std::uint64_t ns) {
  if (call != 0 && call <= moment.call) add_number(out, "calls_before", moment.call - call);
  add_number(out, "ns_before", ns > moment.ns ? ns - moment.ns : 0);
}

void add_end(std::string& out, const last_calls::Reading& reading, const last_calls::EndSeen& end,
             Frames frames) {
  if (out.back() != '[') out += ',';
  out += '{';
  add_text(out, "what", last_calls::name(end.kind));
  add_text(out, "value", hex_text(end.base));
  if (end.size != 0) add_number(out, "size", end.size);
  if (end.device >= 0) add_number(out, "device", static_cast<std::uint64_t>(end.device));
  add_number(out, "made_by_call", end.made);
  add_number(out, "ended_by_call", end.ended);
  if (const last_calls::CallSeen* call = reading.call(end.call)) {
    add_text(out, "call", last_calls::call_text(reading, *call));
  }
  add_distance(out, last_calls::last_moment(reading), end.call, end.ns);
  add_frames(out, "stack", end.frames.empty() ? std::vector<Frame>{} : frames(end.frames));
  out += '}';
}

}  // namespace

std::string fault_members(const last_calls::Reading& reading, const std::vector<Frame>& stack,
                          Frames frames, const std::string& file) {
  const last_calls::Moment moment = last_calls::last_moment(reading);
  const last_calls::CallSeen* const seen_at = reading.call(reading.fault_call);
  std::string out = "{";
  add_text(out, "result", result_name(static_cast<CUresult>(reading.fault_result)));
  add_text(out, "message", last_calls::fault_words(reading.fault_result));
  add_text(out, "call", seen_at ? last_calls::call_text(reading, *seen_at) : "");
  if (seen_at) add_number(out, "thread", seen_at->thread);
  add_frames(out, "stack", stack);
  if (reading.address) {
    add_text(out, "address", hex_text(*reading.address));
    add_key(out, "near");
    out += '[';
    for (const std::string& line : last_calls::near_address(reading, *reading.address)) {
      out += (out.back() == '[' ? "" : ",") + json_string(line);
    }
    out += ']';
  }
  add_key(out, "ended");
  out += '[';
  for (const last_calls::EndSeen* end : last_calls::last_ends(reading, moment, kMostEnds)) {
    add_end(out, reading, *end, frames);
  }
  out += ']';
  add_key(out, "queued");
  out += '[';
  std::size_t left = kMostQueued;
  for (const last_calls::CallSeen* call : last_calls::last_launches(reading, moment)) {
    if (left-- == 0) break;
    out += out.back() == '[' ? "{" : ",{";
    add_text(out, "call", last_calls::call_text(reading, *call));
    add_distance(out, moment, call->sequence, call->ns);
    out += '}';
  }
  out += ']';
  if (!file.empty()) add_text(out, "file", file);
  return out + "}";
}

}  // namespace cuvmm::shim
