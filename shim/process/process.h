// SPDX-License-Identifier: Apache-2.0
// The shim's state in this process. Made at the first use, never destroyed, because static
// destructors and threads that outlive main() may make calls.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "shim/base/ending.h"
#include "shim/driver/real_driver.h"
#include "shim/findings/ledger.h"
#include "shim/labels/labels.h"
#include "shim/process/signals.h"
#include "shim/recorder/last_calls.h"
#include "shim/refusals/journal.h"
#include "shim/report/report_file.h"
#include "shim/session/session_run.h"
#include "shim/settings/options.h"

namespace cuvmm::shim {

class Process : private DeathReport {
 public:
  /// Thread-safe, and safe in constructors of other libraries.
  static Process& get() noexcept;
  /// get().session(); costs one load if a session exists already.
  static Session& current_session() noexcept {
    Session* const open = g_hooks.session.load(std::memory_order_acquire);
    if (open) [[likely]]
      return *open;
    return get().session();
  }
  /// get() if the Process exists already, or null. Async-signal-safe.
  static Process* if_made() noexcept;
  /// False in a child of vfork, which shares this memory.
  bool is_current() const;

  /// The driver and the session that checks calls to it; opens the driver at the first use.
  const RealDriver& driver() { return opened().driver; }
  Session& session() { return opened().session; }
  /// The driver if one was opened already, or null: for the exit report, which opens none.
  const RealDriver* driver_if_open() const;

  /// The session if a driver was opened already, or null.
  Session* session_if_open() {
    Opened* const open = opened_.load(std::memory_order_acquire);
    return open ? &open->session : nullptr;
  }
  Ledger& ledger() { return *ledger_; }
  Labels& labels() { return labels_; }

  const Options& options() const { return options_; }
  /// Whether multicast may be forwarded: an option allows it, or the driver is cuvmm's emulator.
  bool multicast_allowed() { return options_.allow_multicast || driver().emulated; }

  /// Notes a function or a library that the program can call without a check by cuvmm. Printed at
  /// exit.
  void note_unchecked(std::string what);
  /// Notes that the program called a function that changes memory, without a check.
  void note_unchecked_call(std::string function);
  /// Refused calls of functions that are not checked.
  Journal& journal() { return journal_; }
  /// Notes a call that the driver refused because it is not initialised in this process.
  void note_not_initialized(const char* function, const Caller& caller) noexcept;
  /// Notes a sentence about a part that is missing from the report.
  void note(std::string sentence);

  /// The last report of a process that exits: leaks, summary, JSON. Does nothing at the second
  /// call, nor in a child of vfork, which shares this memory. In a signal handler it uses nothing
  /// that the interrupted code may have been changing, and finds no symbols.
  void finish() noexcept;

  /// Prints to stderr the objects that the program has given up and still pins. Returns their
  /// number; -1 if cuvmm cannot tell.
  int tell_leaks() noexcept;

  /// Makes the file of the last calls (shim/recorder/recorded_call.h) at the first call.
  void need_last_calls() noexcept {
    if (last_calls_.unopened()) [[unlikely]]
      open_last_calls();
  }
  /// A call returned an error that means a fault on the device. Explains the first such error.
  void note_fault(CUresult result, std::uint64_t sequence, const Caller& caller) noexcept;

  /// Notes the status that the process ends with; exit() notes its own.
  static void note_status(int status) noexcept;
  /// A child that a fork server made is the program itself.
  void be_the_program() { forked_ = false; }

  /// The exit code of the process by --error-exitcode.
  int exit_code(int status) const;

  // Unchecked, because the locks are held from one function to the next across fork.
  void lock_for_fork() CUVMM_UNCHECKED;
  void unlock_in_parent() CUVMM_UNCHECKED;
  void restart_in_child() CUVMM_UNCHECKED;

 private:
  // The last report of a process that a signal ends.
  bool begin() noexcept override { return is_current() && g_ending.claim(); }
  void note_signal(const DeathSignal& signal) noexcept override;
  void report_death() noexcept override;
  void tell_with_symbols() noexcept override;
  void tell_without_symbols() noexcept override;
  void end() noexcept override { g_ending.done(); }

  struct Opened {
    explicit Opened(RealDriver real, const Options& options, FindingSink& sink)
        : driver(std::move(real)),
          others{others_of(driver)},
          session(driver.functions,
                  {options.enforce,
                   driver.emulated,
                   {options.async, options.unordered,
                    find_questions([this](const char* name) { return driver.find(name); })},
                   {reinterpret_cast<decltype(DriverLog::dump)>(driver.find("cuLogsDumpToMemory"))},
                   driver.emulated ? nullptr : &others},
                  sink) {}
    static Neighbourhood others_of(const RealDriver& driver) {
      return {reinterpret_cast<decltype(Neighbourhood::bus_id)>(driver.find("cuDeviceGetPCIBusId")),
              nvml_beside(driver.path)};
    }
    RealDriver driver;
    const Neighbourhood others;  ///< not asked with the emulator, whose memory belongs to one
                                 ///< process
    Session session;
  };

  Process();
  Opened& opened() {
    Opened* open = opened_.load(std::memory_order_acquire);
    return open ? *open : open_now();
  }
  Opened& open_now();
  void announce(const Entry& entry);
  /// Prints the text of findings to stderr, with the terminal's style.
  void tell(std::string_view text) const;
  void tell_finding(const Entry& entry);
  /// From here on this signal asks for leaks: cuvmm prints them after the next call about memory.
  /// Does nothing if the program has a handler of its own.
  void tell_leaks_at(int signal) noexcept;
  void open_last_calls() noexcept;
  /// From here on the emulator's findings about kernels are taken, if the options ask for them.
  void take_kernel_reports(Opened& open);
  /// Reads CUVMM_FAIL and CUVMM_FAIL_LOG, anew in a child of fork.
  void choose_failures();
  void log_failures(const char* ended) noexcept;
  std::uint64_t fault_address();
  /// The function of the driver that this thread is in, by the file of the last calls; "": none.
  static std::string call_in_driver();
  void tell_fault(StackId stack);
  void last_report(const char* ended);
  void tell_summary();
  /// Looks for leaks if the process ends by itself, or in exit().
  void judge_leaks(bool exits);
  void find_leaks(Session& session);
  /// Counts the objects that are left and are no leaks, for the report.
  void find_in_use(bool exits);
  void find_leaks_on_request();
  /// The list of them by place, for `--leak-check=full`; "" otherwise.
  std::string in_use_listed() const;
  std::string in_use_sentence() const;
  bool lists_in_use() const;
  void find_escapes();
  /// From here on refused calls of unchecked functions are noted as well.
  void keep_journal(const RealDriver& driver) noexcept;
  /// Turns the noted calls into refusals. They are printed unless the process ended `well`.
  void read_journal(bool well);
  bool ended_well() const;
  bool is_new_in_child(StackId stack) noexcept;
  struct ReportContext context(const char* ended);
  void write_json(const char* ended);

  int pid_;
  std::atomic<bool> forked_refused_{false};  ///< the driver refused a call because of the fork
  std::array<std::atomic<StackId>, 8> refused_in_child_{};  ///< the stacks of such calls
  bool forked_ = false;  ///< whether this is a child of fork, of a process that used the shim
  Options options_;
  Labels labels_;  ///< names and scopes that the program gave
  std::unique_ptr<Ledger> ledger_;
  Suppressions suppressions_;
  std::atomic<Opened*> opened_{nullptr};
  ReportFile report_;      ///< CUVMM_REPORT
  ReportFile own_report_;  ///< this process's file in CUVMM_REPORT_DIR
  std::atomic<unsigned> announced_{0};
  /// How many findings of each rule were not quiet.
  std::array<std::atomic<int>, static_cast<std::size_t>(Rule::kCount)> printed_{};
  LastCalls last_calls_;
  std::atomic<bool> main_returned_{false};  ///< for the log of failures
  Journal journal_;
  /// Memory that another thread may still use unless it is asleep: the numbers of the calls that
  /// made it.
  std::vector<std::uint64_t> undecided_;
  std::vector<std::uint32_t> asleep_;  ///< the threads that slept when find_leaks() asked
  std::atomic<bool> leaks_judged_{false};
  AllInUse in_use_, ended_with_context_;
  std::uintptr_t died_of_ = 0;  ///< the address in the signal's information; 0: none
  /// The thread that died of its own fault, or of a signal that the process sent itself; 0: none.
  std::uint32_t died_in_thread_ = 0;
  bool died_in_exit_ = false;  ///< the signal came in a handler of exit(), or in a destructor
  std::string fault_;          ///< as JSON, if a fault came
  std::atomic<bool> fault_known_{false};

  OwnedMutex mutex_;
  std::set<std::string> unchecked_ CUVMM_GUARDED_BY(mutex_);
  std::set<std::string> unchecked_calls_ CUVMM_GUARDED_BY(mutex_);
  std::string escaped_;  ///< as JSON, once the process ends: copies of libcuda that were loaded
                         ///< beside the shim
  std::set<std::string> notes_ CUVMM_GUARDED_BY(mutex_);  ///< the parts that are missing from the
                                                          ///< report
  bool last_report_lost_ = false;  ///< it could not be written into own_report_
};

}  // namespace cuvmm::shim
