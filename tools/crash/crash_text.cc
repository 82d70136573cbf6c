// SPDX-License-Identifier: Apache-2.0
#include "tools/crash/crash_text.h"

#include <fmt/core.h>

#include <algorithm>

#include "api/driver/driver.h"
#include "recorder/last_calls/text.h"
#include "tools/crash/crash_symbols.h"
#include "tools/report/report_merge.h"

namespace cuvmm::tools {

namespace {

std::string printable(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text;
}

std::string ended_before(const last_calls::Reading& reading, const last_calls::CallSeen& call) {
  return last_calls::before_text({reading.total_calls, 0}, call.sequence, call.ns);
}

std::string pending_text(const last_calls::Reading& reading) {
  if (reading.pending.empty()) return "No call was in the driver.\n";
  std::string text = "In the driver, by thread:\n";
  for (const last_calls::CallSeen& call : reading.pending) {
    text += fmt::format("  thread {}: {}, since {}\n", call.thread,
                        last_calls::call_text(reading, call), ended_before(reading, call));
  }
  return text;
}

// The oldest call stands first, as in a program.
std::string calls_text(const last_calls::Reading& reading, std::size_t most) {
  const std::size_t count = std::min(most, reading.calls.size());
  if (count == 0) return "";
  std::string text = fmt::format("The last {} of {} calls:\n", count, reading.total_calls);
  for (std::size_t i = reading.calls.size() - count; i < reading.calls.size(); ++i) {
    const last_calls::CallSeen& call = reading.calls[i];
    text += fmt::format("  {:>8} {:>10} thread {}  {}  # {}\n", call.sequence,
                        "-" + last_calls::time_text(call.ns), call.thread,
                        last_calls::call_text(reading, call), last_calls::end_text(call));
  }
  return text;
}

}  // namespace

std::string crash_ending(const last_calls::Reading& reading) {
  switch (reading.state) {
    case last_calls::State::kExited:
      return "exited";
    case last_calls::State::kSignal:
      return "was ended by " + signal_text(reading.signal);
    case last_calls::State::kRunning:
      break;
  }
  return "was killed, became another program, or still runs";
}

std::string crash_text(const last_calls::Reading& reading, std::size_t calls) {
  std::string text = fmt::format("Process {} ({}) {}.\n", reading.pid, printable(reading.program),
                                 crash_ending(reading));
  text += fmt::format("It made {} calls in {}; driver {}.\n", reading.total_calls,
                      last_calls::time_text(reading.lasted_ns),
                      reading.driver.empty() ? "unknown" : printable(reading.driver));
  if (reading.torn > 0) {
    text += fmt::format("{} records were being written or are damaged: they are left out.\n",
                        reading.torn);
  }
  if (reading.fault_result != 0) {
    const last_calls::CallSeen* const call = reading.call(reading.fault_call);
    text +=
        fmt::format("Fault: {} ({}), seen at {}.\n", last_calls::fault_words(reading.fault_result),
                    result_name(static_cast<CUresult>(reading.fault_result)),
                    call ? last_calls::call_text(reading, *call) : "a call that is too long ago");
  }
  text += pending_text(reading);
  text += reading.fault_result != 0 ? "Before the fault:\n" : "Before the end:\n";
  const auto symbolize = [&](const std::vector<std::uint64_t>& frames) {
    return crash_stack(reading.maps, frames);
  };
  text += last_calls::explanation_text(reading, symbolize, "  ");
  return text + calls_text(reading, calls);
}

}  // namespace cuvmm::tools
