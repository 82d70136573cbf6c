// SPDX-License-Identifier: Apache-2.0
// The output of the shim when the process ends.
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <set>
#include <vector>

#include "shim/base/call_hooks.h"
#include "shim/base/in_flight.h"
#include "shim/base/interrupted.h"
#include "shim/base/own_stack.h"
#include "shim/base/reserve.h"
#include "shim/driver/escape.h"
#include "shim/fail/fail_log.h"
#include "shim/fail/way_out.h"
#include "shim/findings/finding_members.h"
#include "shim/findings/refusal_text.h"
#include "shim/guard/guard.h"
#include "shim/history/ipc_log.h"
#include "shim/objects/alive.h"
#include "shim/output/json.h"
#include "shim/output/output.h"
#include "shim/process/kernel_reports.h"
#include "shim/process/process.h"
#include "shim/recorder/timeline.h"
#include "shim/refusals/surroundings.h"
#include "shim/report/json_report.h"
#include "shim/report/text_report.h"
#include "shim/report/unawaited_text.h"
#include "shim/stack/python/python_stack.h"
#include "shim/stack/symbolizer.h"

namespace cuvmm::shim {

namespace {

constexpr std::chrono::milliseconds kLastPatience{5000};
constexpr std::size_t kMostIpcStacks = 64;  // a program has few places that share memory

template <class Texts>
std::string json_list(const Texts& texts) {
  std::string list = "[";
  for (const std::string& text : texts) {
    if (list.size() > 1) list += ',';
    list += json_string(text);
  }
  return list + ']';
}

std::string json_numbers(const std::vector<std::uint64_t>& numbers) {
  std::string list = "[";
  for (const std::uint64_t number : numbers) {
    if (list.size() > 1) list += ',';
    list += std::to_string(number);
  }
  return list + ']';
}

// Calls that the injector failed never came to the session, so they are counted here.
void count_injected(ReportContext& context) {
  Injector* const injector = g_hooks.injector.load(std::memory_order_acquire);
  if (!injector || !injector->injects()) return;
  const auto seen = injector->seen();
  if (!seen) return;
  for (const Injected& call : seen->injected)
    ++context.counts[static_cast<std::size_t>(call.entry)];
}

}  // namespace

void Process::find_escapes() {
  const RealDriver* driver = driver_if_open();
  const std::vector<std::string> escaped = escaped_libraries(driver ? driver->path : "");
  if (!escaped.empty()) escaped_ = json_list(escaped);
  for (const std::string& path : escaped) {
    say(path +
        " was loaded beside the shim (an absolute path, dlmopen): calls to it were not checked");
    note_unchecked(path + ": loaded beside the shim, calls to it were not checked");
  }
}

ReportContext Process::context(const char* ended) {
  if (std::string trouble = python_trouble(); !trouble.empty()) note(std::move(trouble));
  ReportContext context;
  context.pid = pid_;
  context.ended = ended;
  context.ended_by_thread = died_in_thread_;
  const RealDriver* driver = driver_if_open();
  Opened* const open = opened_.load();
  context.driver = "{\"path\":" + json_string(driver ? driver->path : "") +
                   ",\"version\":" + std::to_string(open ? open->session.driver_version() : 0) +
                   ",\"emulated\":" + (driver && driver->emulated ? "true" : "false") + "}";
  context.unchecked = "[]";
  context.escaped = escaped_;
  context.in_use = sums_json(in_use_);
  context.ended_with_context = sums_json(ended_with_context_);
  context.in_use_listed = lists_in_use();
  context.expected = labels_.expected();
  context.leaks_judged = leaks_judged_.load() || options_.leak_check == LeakCheck::kNo;
  if (!undecided_.empty()) context.undecided = json_numbers(undecided_);
  if (const std::vector<std::string> unused = ledger_->suppressions().unused(); !unused.empty())
    context.unused = json_list(unused);
  if (mutex_.lock_within(kLastPatience)) {
    const Locked lock(mutex_, kHeldAlready);
    context.unchecked = json_list(unchecked_);
    if (!unchecked_calls_.empty()) context.unchecked_calls = json_list(unchecked_calls_);
    if (!notes_.empty()) context.notes = json_list(notes_);
  }
  if (fault_known_.load(std::memory_order_acquire)) context.fault = fault_;
  if (!open) return context;
  // A child of fork that cannot use the driver holds nothing, whenever it is killed.
  context.leaks_judged |= forked_refused_.load() && open->session.total() == 0;
  for (std::size_t i = 0; i < std::size(context.counts); ++i) {
    context.counts[i] = open->session.count(static_cast<EntryPoint>(i));
  }
  const QueuedWork& work = open->session.work();
  context.work = work.counts();
  if (open->driver.emulated && std::string_view(ended) == "exit") {
    context.unawaited_use = unawaited_text(work.first_unawaited(false));
    context.perhaps_unawaited_use = unawaited_text(work.first_unawaited(true));
  }
  count_injected(context);
  return context;
}

void Process::write_json(const char* ended) {
  if (!report_.chosen() && !own_report_.chosen()) return;
  ReportContext report = context(ended);
  Opened* const open = opened_.load();
  if (open) {
    const auto alive = open->session.with_model_within(kLastPatience, &count_alive);
    if (alive) {
      report.alive_allocations = alive->allocations;
      report.alive_bytes = alive->bytes;
      report.alive_reservations = alive->reservations;
    }
    const IpcLog ipc = open->session.ipc_log(kLastPatience);
    report.ipc = ipc.json();
    if (std::string_view(ended) == "exit") {
      // A process that was killed has no stacks in its report, because symbols take a while.
      std::set<StackId> stacks = ipc.stacks(kMostIpcStacks);
      if (!options_.timeline.empty()) {
        const std::vector<StackId> more = open->session.finish_timeline(kLastPatience);
        stacks.insert(more.begin(), more.end());
      }
      if (!stacks.empty())
        findings_stack().run([&] { report.stacks = stacks_json(stacks); }, kLastPatience);
    }
  }
  const bool last = std::string_view(ended) != "running";
  const bool used = open && (!forked_ || open->session.total() != 0 || forked_refused_.load());
  const bool idle = !used && report.unchecked == "[]";
  const auto write = [&](ReportFile& file, bool keep) {
    const int error = file.write(report, *ledger_, keep);
    if (last && &file == &own_report_) {
      last_report_lost_ = error != 0;
      file.mark_lost(last_report_lost_);
    }
    if (error != 0 && last) {
      say("cannot write the report " + file.path() + ": errno " + std::to_string(error));
    }
  };
  // A process that never used CUDA (a shell, a child on its way to exec) leaves no file beside
  // those of the other processes, and does not touch their files.
  if (own_report_.chosen() && !idle) write(own_report_, false);
  if (report_.chosen() && last) write(report_, idle);
}

void Process::last_report(const char* ended) {
  const bool exits = std::string_view(ended) == "exit";
  judge_leaks(exits);
  find_in_use(exits);
  if (failed_init() == CUDA_ERROR_NO_DEVICE && std::getenv("CUDA_VISIBLE_DEVICES")) {
    note("cuInit answered CUDA_ERROR_NO_DEVICE; " + visible_devices() +
         ". If the program needs a GPU, unset the variable, or let it name a GPU of this machine "
         "(`cuvmm doctor` lists them)");
  }
  find_escapes();
  if (exits) {
    if (KernelReports* const left = g_hooks.kernel_reports.load()) left->rest();
    read_journal(ended_well());
  }
  if (Guard* const guard = exits ? g_guard.load() : nullptr) {
    guard->tell_missing([this](std::string what) {
      if (!options_.no_summary) say(what);  // `cuvmm run` prints it for all processes
      note(std::move(what));
    });
  }
  ledger_->describe_rest();
  write_json(ended);
  log_failures(ended);
}

void Process::log_failures(const char* ended) noexcept {
  Injector* const injector = g_hooks.injector.load(std::memory_order_acquire);
  Opened* const open = opened_.load();
  if (!injector || !injector->logs() || !open) return;
  try {
    const bool exits = std::string_view(ended) == "exit";
    // Only if the log names stacks.
    if (exits && (!injector->injects() || !in_use_.empty())) prepare_symbolizer();
    write_fail_log(*injector, ended, main_returned_.load(), exits ? &in_use_ : nullptr);
  } catch (...) {
    say("out of memory: the log of failures is incomplete");
  }
}

void Process::tell_summary() {
  Opened* const open = opened_.load();
  if (!open) return;
  tell(in_use_listed());
  if (open->session.total() == 0) return tell(refusals_text(ledger_->refusals().first()));
  const SummaryFacts facts{.calls = open->session.total(), .in_use = in_use_sentence()};
  if (!options_.verbose) tell(advice_text(*ledger_));
  tell(refusals_text(ledger_->refusals().first()));
  tell(repeats_text(*ledger_));
  if (last_calls_.error() != 0) {
    say("the last calls are in no file in " + options_.ring + ": " +
        std::strerror(last_calls_.error()));
  }
  if (!options_.no_summary) tell(summary_text(*ledger_, facts));
}

void Process::finish() noexcept {
  if (!is_current() || !g_ending.claim()) return;
  const auto work = [this](Care care) {
    const CareScope careful(care);
    last_report("exit");
    tell_summary();
  };
  // Runs on findings_stack(), so that a finding that another thread describes at the moment is in
  // the report.
  const bool interrupted = in_signal_handler();
  if (g_hooks.injector.load(std::memory_order_relaxed) && !interrupted) {
    main_returned_.store(main_returned(CUVMM_CALLER));
  }
  const bool done =
      !interrupted && findings_stack().run([&] { work(Care::kOwnMemory); }, kLastPatience);
  if (!done) ending_stack().run([&] { work(Care::kAsInterrupted); }, kLastPatience);
  // The files with the held objects and the last calls stay if `cuvmm run` has to judge the rest,
  // or all of it, because the report could not be written.
  const bool no_leaks = options_.leak_check == LeakCheck::kNo;
  const bool leaks_reported = no_leaks || (leaks_judged_.load() && undecided_.empty());
  const bool all_judged = !options_.judged || (leaks_reported && !last_report_lost_);
  last_calls_.finish(options_.keep_last_calls || !all_judged);
  Opened* const open = opened_.load();
  if (open && all_judged) open->session.stop_showing(kLastPatience);
  g_ending.done();
}

void Process::report_death() noexcept {
  const auto work = [this] {
    const CareScope careful(Care::kAsInterrupted);
    ledger_->hold_announcements();
    const InFlight* const call = in_flight();
    const bool reported = call && session().report_crash(*call);
    if (!reported && died_of_ != 0) session().report_crash_at(died_of_, &call_in_driver);
    last_report("signal");
  };
  ending_stack().run(work, kLastPatience);
}

void Process::tell_with_symbols() noexcept {
  const auto work = [this] {
    const CareScope careful(Care::kOwnMemory);
    ledger_->announce_rest(true);
    read_journal(false);
    write_json("signal");
    tell_summary();
  };
  // The signal's stack may be as small as 8 KiB, and the loader needs more.
  ending_stack().run([] { prepare_symbolizer(); }, kLastPatience);
  if (!findings_stack().run(work, kLastPatience)) tell_without_symbols();
}

void Process::tell_without_symbols() noexcept {
  const CareScope careful(Care::kAsInterrupted);
  try {
    ledger_->announce_rest(false);
    tell_summary();
  } catch (...) {
    say("out of memory: the report is incomplete");
  }
}

}  // namespace cuvmm::shim
