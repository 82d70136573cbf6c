// SPDX-License-Identifier: Apache-2.0
// Leaks on request, while the program goes on: the part of Process.
#include <chrono>
#include <csignal>
#include <optional>
#include <string>

#include "api/posix/cancel_off.h"
#include "api/words.h"
#include "frames/runtime_frames.h"
#include "frames/stack_text.h"
#include "recorder/holdings/counted.h"
#include "shim/base/own_stack.h"
#include "shim/base/reserve.h"
#include "shim/output/output.h"
#include "shim/process/process.h"
#include "shim/stack/symbolizer.h"

namespace cuvmm::shim {

namespace {

constexpr std::chrono::milliseconds kPatienceForLeaks{1000};

bool descriptor_open_now(const Export& exported) {
  return Process::get().session().still_exported(exported);
}

std::string text_of(const Violations& leaks) {
  std::string text = "cuvmm: leaks now: " + std::to_string(leaks.size()) + "\n";
  for (const Violation& leak : leaks) {
    text += std::string("cuvmm: ") + info(leak.rule).id + ": " + leak.message + "\n";
    if (leak.objects.empty()) continue;
    const ObjectRef& object = leak.objects.front();
    std::vector<Frame> frames = symbolize(object.made.stack);
    std::string function = frames::take_runtime_frames(frames);
    if (function.empty()) function = stack_function(object.made.stack);
    text += std::string("  ") + how(object) + by_text(object.made.call, function) + "\n";
    text += stack_text(frames, "      ");
  }
  return text;
}

void tell_leaks_of_this_process() {
  if (Process* const process = Process::if_made()) (void)process->tell_leaks();
}

// Called after a checked call, because a signal handler must not do this itself.
void on_leaks_signal(int) {
  if (Process* const process = Process::if_made()) {
    process->session().ask(&tell_leaks_of_this_process);
  }
}

}  // namespace

int Process::tell_leaks() noexcept {
  Opened* const open = opened_.load();
  if (!open || !is_current()) return -1;
  const CancelOff no_cancel;
  int count = -1;
  (void)findings_stack().run(
      [&] {
        const CareScope careful(Care::kOwnMemory);
        const std::optional<Violations> leaks =
            open->session.given_up(kPatienceForLeaks, &descriptor_open_now);
        if (!leaks) return;
        prepare_symbolizer();
        write_stderr(text_of(*leaks));
        count = static_cast<int>(leaks->size());
      },
      kPatienceForLeaks);
  return count;
}

void Process::tell_leaks_at(int signal) noexcept {
  struct sigaction before {};
  if (::sigaction(signal, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) return;
  struct sigaction action {};
  action.sa_handler = on_leaks_signal;
  action.sa_flags = SA_RESTART;
  ::sigaction(signal, &action, nullptr);
}

}  // namespace cuvmm::shim

/// Prints to stderr the objects that the program has given up and still pins. Returns the number of
/// findings; -1 if cuvmm cannot tell. For programs: find it by dlsym, or by
/// ctypes.CDLL(None).cuvmmLeaks.
extern "C" __attribute__((visibility("default"))) int cuvmmLeaks() {
  using cuvmm::shim::Process;
  Process* const process = Process::if_made();
  return process ? process->tell_leaks() : -1;
}
