// SPDX-License-Identifier: Apache-2.0
// The shim's text about a device's fault at an address, and the facts from the last calls when a
// signal ends the process.
#include <chrono>

#include "api/driver/driver.h"
#include "api/posix/cancel_off.h"
#include "api/words.h"
#include "frames/stack_text.h"
#include "recorder/last_calls/reading.h"
#include "recorder/last_calls/text.h"
#include "shim/base/interrupted.h"
#include "shim/base/own_stack.h"
#include "shim/end/fault_members.h"
#include "shim/output/output.h"
#include "shim/process/process.h"
#include "shim/recorder/ends.h"
#include "shim/recorder/recorded_call.h"
#include "shim/stack/symbolizer.h"

namespace cuvmm::shim {

namespace {

constexpr std::chrono::milliseconds kFaultPatience{1000};

std::vector<Frame> frames_of(const std::vector<std::uint64_t>& addresses) {
  const std::vector<std::uintptr_t> frames(addresses.begin(), addresses.end());
  return symbolize(frames);
}

std::vector<std::string> lines_of(const std::vector<std::uint64_t>& addresses) {
  std::vector<std::string> lines;
  if (addresses.empty()) return lines;
  const std::string text = stack_text(frames_of(addresses), "");
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::string image_error(last_calls::Reading& reading) {
  const auto* const image = reinterpret_cast<const std::byte*>(g_last_calls.image());
  if (!image) return "there is none";
  return last_calls::read_image({image, sizeof(last_calls::Image)}, reading);
}

std::string call_text(const last_calls::Reading& reading) {
  const last_calls::CallSeen* const call = reading.call(reading.fault_call);
  return call ? last_calls::call_text(reading, *call) : "a call";
}

}  // namespace

void Process::open_last_calls() noexcept {
  const CancelOff no_cancel;
  const RealDriver* const driver = driver_if_open();
  if (driver) last_calls_.open(options_, driver->path);
}

void Process::tell_fault(StackId stack) {
  last_calls::Reading reading;
  if (!image_error(reading).empty()) return;
  std::string text = "cuvmm: fault: ";
  text += last_calls::fault_words(reading.fault_result);
  text += " (" + result_name(static_cast<CUresult>(reading.fault_result)) + "), seen at " +
          call_text(reading) + "\n";
  text += stack_text(symbolize(stack), "      ");
  if (!reading.address) {
    text += "    The driver does not say which address, and the work may have begun long before.\n";
    if (options_.guards.guard) {
      text +=
          "    With --guard nothing is mapped directly before and behind a reservation: work that "
          "runs over its edge ends so.\n";
    }
  }
  text += last_calls::explanation_text(reading, &lines_of, "    ");
  if (!last_calls_.path().empty()) {
    text += "    the last calls: cuvmm explain-crash " + last_calls_.path() + "\n";
  }
  write_stderr(text);
  fault_ = fault_members(reading, symbolize(stack), &frames_of, last_calls_.path());
  fault_known_.store(true, std::memory_order_release);
  if (own_report_.chosen() && !g_ending.begun()) write_json("running");
}

// The address from an earlier run's log, or from the emulator, which knows it.
std::uint64_t Process::fault_address() {
  const RealDriver* const real = driver_if_open();
  if (options_.fault_address != 0 || !real || !real->emulated) return options_.fault_address;
  using Ask = std::uint64_t();
  auto* const ask = reinterpret_cast<Ask*>(real->find("cuvmmEmulatorFaultAddress"));
  return ask ? ask() : 0;
}

void Process::note_fault(CUresult result, std::uint64_t sequence, const Caller& caller) noexcept {
  if (!is_current() || sequence == 0) return;
  if (!g_last_calls.begin_fault(static_cast<std::uint32_t>(result), sequence)) return;
  const int saved = errno;
  const CancelOff no_cancel;
  if (const std::uint64_t address = fault_address()) g_last_calls.note_address(address);
  g_last_calls.keep_maps();
  try {
    (void)session().with_model_within(kFaultPatience, [](const Model& model) {
      note_living(model);
      return true;
    });
    const StackId stack = capture_stack(caller);
    prepare_symbolizer();
    const auto work = [&] { tell_fault(stack); };
    if (!findings_stack().run(work, kFaultPatience)) work();
  } catch (...) {
    say("out of memory: the fault is not explained");
  }
  errno = saved;
}

std::string Process::call_in_driver() {
  last_calls::Reading reading;
  if (!image_error(reading).empty()) return {};
  for (const last_calls::CallSeen& call : reading.pending) {
    const last_calls::EntrySeen* const entry = reading.entry(call);
    if (call.thread == t_state.thread && entry) return entry->name;
  }
  return {};
}

void Process::note_signal(const DeathSignal& signal) noexcept {
  died_in_exit_ = below_exit();
  if (signal.own) died_in_thread_ = t_state.thread;
  if (signal.fault) died_of_ = signal.address;
  if (signal.fault) g_last_calls.note_address(signal.address);
  g_last_calls.note_signal(signal.number);
  g_last_calls.keep_maps();
}

}  // namespace cuvmm::shim
