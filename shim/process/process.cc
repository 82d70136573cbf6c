// SPDX-License-Identifier: Apache-2.0
#include "shim/process/process.h"
#include "shim/base/call_hooks.h"
#include "shim/process/kernel_reports.h"
#include "shim/process/process_states.h"

#include <pthread.h>
#include <unistd.h>

#include <new>

#include "api/posix/cancel_off.h"
#include "api/posix/image_name.h"
#include "shim/base/interrupted.h"
#include "shim/base/own_stack.h"
#include "shim/driver/escape.h"
#include "shim/fail/fail_log.h"
#include "shim/fail/injector.h"
#include "shim/guard/guard.h"
#include "shim/objects/object_table.h"
#include "shim/output/output.h"
#include "shim/refusals/arguments/described.h"
#include "shim/refusals/loaded_code.h"
#include "shim/report/text_report.h"
#include "shim/settings/early_environment.h"
#include "shim/stack/python/python_stack.h"
#include "shim/trace/trace.h"

namespace cuvmm::shim {

namespace {

constexpr std::size_t kMaxUnchecked = 256;
constexpr std::chrono::milliseconds kPatience{1000};

std::string own_report_name(const std::string& folder) {
  return folder.empty() ? std::string() : folder + "/" + image_name() + ".json";
}

// From here on the driver's table leads to the guard, and the session sees the addresses that the
// program sees.
void stand_before(RealDriver& driver, const GuardOptions& wanted) {
  if (!wanted.any() || !driver.library) return;
  Guard* const mine = new Guard(driver.functions, wanted, driver.emulated);
  Guard* first = nullptr;
  if (!g_guard.compare_exchange_strong(first, mine, std::memory_order_acq_rel)) delete mine;
  lead_to_guard(driver.functions);
}

std::atomic<Process*> g_process{nullptr};

TraceFilter trace_filter(const Options& options) {
  return TraceFilter::of(options.trace_calls, options.trace_errors);
}

// The locks that a thread took to fork. Not all of them if a signal handler forks, because the
// thread itself may have been inside of a locked section.
struct LockedForFork {
  bool ledger = false, texts = false, session = false, symbols = false, labels = false,
       objects = false;
  StackLocks stacks;
};
thread_local LockedForFork t_locked;

// Children of fork start with an empty model, unlocked locks and a report of their own.
void handle_forks() {
  ::pthread_atfork([] { Process::get().lock_for_fork(); },
                   [] { Process::get().unlock_in_parent(); },
                   [] { Process::get().restart_in_child(); });
}

}  // namespace

Process& Process::get() noexcept {
  if (Process* made = g_process.load(std::memory_order_acquire)) return *made;
  const CancelOff no_cancel;
  const EarlyEnvironment environment;
  alignas(Process) static std::byte storage[sizeof(Process)];
  static Process* const process = new (storage) Process();
  g_process.store(process, std::memory_order_release);
  return *process;
}

Process* Process::if_made() noexcept { return g_process.load(std::memory_order_acquire); }

bool Process::is_current() const { return ::getpid() == pid_; }

Process::Process()
    : pid_(::getpid()),
      options_(read_options(pid_)),
      labels_(options_.scope, options_.nvtx_include) {
  silence_stderr(options_.quiet);
  limit_stacks(static_cast<std::size_t>(options_.stack_depth));
  // Made now, because a child that is forked while a thread makes a table would wait without end.
  object_table();
  described_refusals();
  process_states();
  prepare_loaded_code();
  if (options_.no_symbols) do_without_symbols();
  if (options_.no_python_frames || options_.stack_depth == 1) do_without_python();
  suppressions_ =
      options_.suppressions.empty() ? Suppressions() : Suppressions::load(options_.suppressions);
  ledger_ = std::make_unique<Ledger>(
      suppressions_, [this](const Entry& entry) { announce(entry); }, options_.verbose, &labels_);
  report_.choose(options_.report, false);
  own_report_.choose(own_report_name(options_.report_dir), true);
  // If a thread is cancelled in the driver, the C library's copy of libgcc unwinds it through the
  // shim's frames. The shim's own copy, which the frames' clean-up uses, is ready for that once it
  // has unwound a stack itself.
  (void)in_signal_handler();
  findings_stack().reserve();
  ending_stack().reserve();
  handle_forks();
}

// Takes no lock, because a thread that waits for this one may hold the loader's lock. Two threads
// may both open the driver: dlopen counts, and the table of the second thread is dropped.
Process::Opened& Process::open_now() {
  const CancelOff no_cancel;
  const EarlyEnvironment environment;
  find_python();
  RealDriver real = open_driver(options_);
  stand_before(real, options_.guards);
  auto* mine = new Opened(std::move(real), options_, *ledger_);
  Opened* first = nullptr;
  if (!opened_.compare_exchange_strong(first, mine, std::memory_order_acq_rel)) {
    delete mine;
    return *first;
  }
  choose_failures();  // before any thread can make a call
  g_hooks.session.store(&mine->session, std::memory_order_release);
  labels_.names().ask(&mine->session);
  take_kernel_reports(*mine);
  // A process that never uses CUDA (a shell around the program) does not get here: it prints
  // nothing and truncates no trace.
  if (!options_.complaint.empty()) say(options_.complaint);
  for (const std::string& error : suppressions_.errors()) {
    say(error + " (the line is ignored)");
    note(error + " (the line was ignored)");
  }
  for (const std::string& sentence : interposed_libraries()) {
    if (!options_.no_summary) say(sentence);  // `cuvmm run` prints the notes
    note(sentence);
  }
  mine->session.show_in(options_.live, mine->driver.path);
  mine->session.keep_timeline_in(options_.timeline);
  keep_journal(mine->driver);
  if (!options_.trace.empty())
    mine->session.observe(open_trace(options_.trace, trace_filter(options_)).release());
  if (!mine->driver.library) {
    say("no CUDA driver: " + mine->driver.error + ". Calls answer CUDA_ERROR_NO_DEVICE");
  } else {
    handle_fatal_signals(*this);
    if (options_.leaks_signal != 0) tell_leaks_at(options_.leaks_signal);
  }
  // A process that is killed leaves at least this report.
  if (!g_ending.begun()) findings_stack().run([this] { write_json("running"); }, kPatience);
  return *mine;
}

void Process::take_kernel_reports(Opened& open) {
  auto* const take =
      reinterpret_cast<TakeKernelReport*>(open.driver.find(cuvmm::kTakeKernelReport));
  auto* const last = reinterpret_cast<LastLaunch*>(open.driver.find(cuvmm::kLastLaunch));
  if (!options_.check_kernels || !open.driver.emulated || !take || !last) return;
  // Never destroyed, because threads that outlive main() make calls.
  g_hooks.kernel_reports.store(new KernelReports(take, last, open.session, *ledger_),
                               std::memory_order_release);
}

void Process::choose_failures() {
  if (options_.fail.empty() && options_.fail_log.empty()) return;
  injected_failures::Spec spec;
  if (!options_.fail.empty()) spec = injected_failures::parse_spec(options_.fail);
  if (spec.error) {
    say("CUVMM_FAIL is not understood, and no call is made to fail: column " +
        std::to_string(spec.error->column) + ": " + spec.error->message);
  }
  // Never destroyed, because threads that outlive main() make calls.
  g_hooks.injector.store(new Injector(std::move(spec), fail_log_name(options_.fail_log, pid_)),
                         std::memory_order_release);
}

const RealDriver* Process::driver_if_open() const {
  const Opened* open = opened_.load(std::memory_order_acquire);
  return open ? &open->driver : nullptr;
}

void Process::note_unchecked(std::string what) {
  if (!mutex_.lock_within(kPatience)) return;
  const Locked lock(mutex_, kHeldAlready);
  if (unchecked_.size() < kMaxUnchecked) unchecked_.insert(std::move(what));
}

void Process::note_unchecked_call(std::string function) {
  if (!mutex_.lock_within(kPatience)) return;
  const Locked lock(mutex_, kHeldAlready);
  if (unchecked_calls_.size() < kMaxUnchecked) unchecked_calls_.insert(std::move(function));
}

void Process::note(std::string sentence) {
  if (!mutex_.lock_within(kPatience)) return;
  const Locked lock(mutex_, kHeldAlready);
  if (notes_.size() < kMaxUnchecked) notes_.insert(std::move(sentence));
}

void Process::tell(std::string_view text) const {
  if (!text.empty()) write_stderr(styled(text, style_of_stderr(options_.color)));
}

void Process::tell_finding(const Entry& entry) {
  constexpr int kMostOnTerminal = 10;
  const bool terminal = stderr_columns() != 0;
  const int usual = terminal ? kMostOnTerminal : 0;
  const int most = options_.limit < 0 ? usual : options_.limit;
  const Rule rule = entry.finding.violation.rule;
  const int before =
      printed_[static_cast<std::size_t>(rule)].fetch_add(1, std::memory_order_relaxed);
  if (most == 0 || before < most) {
    tell(finding_text(entry, terminal && before > 0));
  } else if (before == most) {
    tell(std::string("cuvmm: more findings of ") + info(rule).id + " are not printed (--limit " +
         std::to_string(most) + "); they are counted, and the report has them\n");
  }
}

void Process::announce(const Entry& entry) {
  if (!entry.quiet) tell_finding(entry);
  // A report is written during the run, because a process that is killed or that execs must leave
  // its findings; findings of destructors and threads after the last report come into another
  // report. Only at powers of two, because writing a long list at each finding would take quadratic
  // time.
  const unsigned count = announced_.fetch_add(1) + 1;
  if (count > 16 && (count & (count - 1)) != 0) return;
  if (g_ending.over()) write_json("exit");
  if (own_report_.chosen() && !g_ending.begun()) write_json("running");
}

int Process::exit_code(int status) const {
  return options_.error_exit_code != 0 && ledger_->totals().any() ? options_.error_exit_code
                                                                  : status;
}

void Process::lock_for_fork() {
  // First takes the locks for which other threads may wait while they hold the rest.
  t_locked.symbols = findings_stack().lock_for_fork();
  t_locked.ledger = ledger_->lock_for_fork();
  t_locked.texts = mutex_.lock_within(kPatience);
  t_locked.labels = labels_.lock_for_fork();
  Opened* open = opened_.load();
  t_locked.session = open && open->session.lock_for_fork();
  t_locked.objects = object_table().lock_for_fork();
  t_locked.stacks = lock_stacks();
}

void Process::unlock_in_parent() {
  unlock_stacks(t_locked.stacks);
  if (t_locked.objects) object_table().unlock_after_fork();
  if (t_locked.session) opened_.load()->session.unlock_after_fork();
  if (t_locked.labels) labels_.unlock_after_fork();
  if (t_locked.texts) mutex_.unlock();
  if (t_locked.ledger) ledger_->unlock_after_fork();
  if (t_locked.symbols) findings_stack().unlock_after_fork();
}

void Process::restart_in_child() {
  const LockedForFork whole = t_locked;
  t_locked = {.ledger = true,
              .texts = true,
              .session = opened_.load() != nullptr,
              .symbols = true,
              .labels = true,
              .objects = true,
              .stacks = {true, true, true, true}};
  unlock_in_parent();  // in the child all locks become free, whichever thread held them, because
                       // the child has one thread
  ending_stack().unlock_after_fork();
  t_state.on_own_stack = false;
  if (!whole.symbols || symbolizer_loads()) symbolizer_was_interrupted();
  pid_ = ::getpid();
  start_image();
  forked_ = true;
  release_stderr_in_child();
  const std::string parents_trace = options_.trace;
  options_ = read_options(pid_);
  last_calls_.restart_in_child();
  journal_.clear();
  described_refusals().clear();
  if (g_hooks.injector.exchange(nullptr)) choose_failures();
  if (const Guard* const parents = g_guard.load()) g_guard.store(parents->fresh());
  fault_known_.store(false);
  forked_refused_.store(false);
  for (auto& each : refused_in_child_) each.store(0);
  leaks_judged_.store(false);
  undecided_.clear();
  asleep_.clear();
  last_report_lost_ = false;
  in_use_.clear();
  ended_with_context_.clear();
  report_.choose(options_.report, false);
  own_report_.choose(own_report_name(options_.report_dir), true);
  ledger_->clear(whole.ledger);
  labels_.restart_in_child(whole.labels);
  object_table().clear(whole.objects);
  if (!whole.texts) {
    new (&unchecked_) std::set<std::string>();
    new (&unchecked_calls_) std::set<std::string>();
  }
  if (!whole.texts) new (&notes_) std::set<std::string>();
  unchecked_.clear();
  unchecked_calls_.clear();
  notes_.clear();
  announced_.store(0);
  for (auto& printed : printed_) printed.store(0);
  g_ending.restart();
  Opened* open = opened_.load();
  if (!open) return;
  open->session.start_in_child(whole.session);
  // The parent goes on to write its file; with %p in the name the child has a file of its own.
  const bool own = options_.trace != parents_trace;
  open->session.observe(own ? open_trace(options_.trace, trace_filter(options_)).release()
                            : nullptr);
}

}  // namespace cuvmm::shim
