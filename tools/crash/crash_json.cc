// SPDX-License-Identifier: Apache-2.0
#include "tools/crash/crash_json.h"

#include <algorithm>

#include "api/driver/driver.h"
#include "api/words.h"
#include "recorder/last_calls/text.h"
#include "tools/crash/crash_symbols.h"
#include "tools/crash/crash_text.h"

namespace cuvmm::tools {

namespace {

Json call_json(const last_calls::Reading& reading, const last_calls::CallSeen& call) {
  Json value = {{"number", call.sequence},
                {"thread", call.thread},
                {"call", last_calls::call_text(reading, call)},
                {"ns_before_end", call.ns}};
  if (const last_calls::EntrySeen* entry = reading.entry(call)) value["function"] = entry->name;
  if (call.end != last_calls::CallSeen::End::kPending) value["result"] = last_calls::end_text(call);
  return value;
}

template <class Seen>
Json object_json(const Seen& object) {
  Json value = {{"what", last_calls::name(object.kind)},
                {"value", hex_text(object.base)},
                {"size", object.size}};
  if (object.device >= 0) value["device"] = object.device;
  value["made_by_call"] = object.made;
  return value;
}

Json end_json(const last_calls::Reading& reading, const last_calls::EndSeen& end) {
  Json value = object_json(end);
  value["ended_by_call"] = end.ended;
  value["ns_before_end"] = end.ns;
  value["thread"] = end.thread;
  if (const last_calls::CallSeen* call = reading.call(end.call)) {
    value["call"] = last_calls::call_text(reading, *call);
    value["number"] = call->sequence;
  }
  value["stack"] = crash_stack(reading.maps, end.frames);
  return value;
}

}  // namespace

Json crash_json(const last_calls::Reading& reading, std::size_t calls) {
  Json value = {{"schema", 1},
                {"pid", reading.pid},
                {"program", reading.program},
                {"driver", reading.driver},
                {"ended", crash_ending(reading)},
                {"total_calls", reading.total_calls},
                {"lasted_ns", reading.lasted_ns},
                {"torn", reading.torn}};
  if (reading.state == last_calls::State::kSignal) value["signal"] = reading.signal;
  if (reading.fault_result != 0) {
    value["fault"] = {{"result", result_name(static_cast<CUresult>(reading.fault_result))},
                      {"number", reading.fault_call}};
  }
  if (reading.address) {
    value["address"] = hex_text(*reading.address);
    value["near"] = last_calls::near_address(reading, *reading.address);
  }
  value["in_driver"] = Json::array();
  for (const last_calls::CallSeen& call : reading.pending) {
    value["in_driver"].push_back(call_json(reading, call));
  }
  value["ended_objects"] = Json::array();
  for (const last_calls::EndSeen* end :
       last_calls::last_ends(reading, last_calls::last_moment(reading), calls)) {
    value["ended_objects"].push_back(end_json(reading, *end));
  }
  value["live"] = Json::array();
  for (const last_calls::LiveSeen& live : reading.live) value["live"].push_back(object_json(live));
  value["calls"] = Json::array();
  const std::size_t count = std::min(calls, reading.calls.size());
  for (std::size_t i = reading.calls.size() - count; i < reading.calls.size(); ++i) {
    value["calls"].push_back(call_json(reading, reading.calls[i]));
  }
  return value;
}

}  // namespace cuvmm::tools
