// SPDX-License-Identifier: Apache-2.0
// The shim's state in this process. Made at the first use, never destroyed: calls may come from
// static destructors and from threads that outlive main.
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
  /// get().session(), where there is one already at the cost of one load.
  static Session& current_session() noexcept {
    Session* const open = g_session.load(std::memory_order_acquire);
    if (open) [[likely]]
      return *open;
    return get().session();
  }
  /// get() where it exists already, or null. Async-signal-safe.
  static Process* if_made() noexcept;
  /// False in a child of vfork, which shares this memory.
  bool is_current() const;

  /// The driver and the session that checks calls to it; opens the driver at the first use.
  const RealDriver& driver() { return opened().driver; }
  Session& session() { return opened().session; }
  /// The driver where one was opened already, or null: for the exit report, which opens none.
  const RealDriver* driver_if_open() const;

  /// The session where a driver was opened already, or null.
  Session* session_if_open() {
    Opened* const open = opened_.load(std::memory_order_acquire);
    return open ? &open->session : nullptr;
  }
  Ledger& ledger() { return *ledger_; }
  Labels& labels() { return labels_; }

  const Options& options() const { return options_; }
  /// Whether multicast may be forwarded: asked for, or the driver is our emulator.
  bool multicast_allowed() { return options_.allow_multicast || driver().emulated; }

  /// Notes something of ours that was handed out or reached without being checked. Said at exit.
  void note_unchecked(std::string what);
  /// Notes a sentence about what is missing from the report.
  void note(std::string sentence);

  /// The last report of a process that exits: leaks, summary, JSON. Does nothing the second time,
  /// nor in a child of vfork, which shares this memory. In a signal handler it uses nothing that
  /// the interrupted code may have been in the middle of, and finds no symbols.
  void finish() noexcept;

  /// Says on stderr what the program has given up and still pins. How much there is; -1: it cannot
  /// be told.
  int tell_leaks() noexcept;

  /// Where the last calls are kept (shim/recorder/ring_call.h): from the first call on.
  void need_ring() noexcept {
    if (last_calls_.unopened()) [[unlikely]]
      open_ring();
  }
  /// A call returned an error that tells of a fault on the device. The first one is explained.
  void note_fault(CUresult result, std::uint64_t sequence, const Caller& caller) noexcept;

  /// The status that the process ends with; exit() tells it by itself.
  static void note_status(int status) noexcept;
  /// A child that a fork server made is the program itself.
  void be_the_program() { forked_ = false; }

  /// What --error-exitcode makes of the program's exit code.
  int exit_code(int status) const;

  // Unchecked, because fork keeps the locks from one function to the other.
  void lock_for_fork() CUVMM_UNCHECKED;
  void unlock_in_parent() CUVMM_UNCHECKED;
  void restart_in_child() CUVMM_UNCHECKED;

 private:
  // The last report of a process that a signal ends.
  bool begin() noexcept override { return is_current() && g_ending.claim(); }
  void note_signal(int signal, std::uintptr_t address, bool known) noexcept override;
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
    const Neighbourhood others;  ///< not asked of the emulator: its memory is each process's own
    Session session;
  };

  static inline constinit std::atomic<Session*> g_session{nullptr};

  Process();
  Opened& opened() {
    Opened* open = opened_.load(std::memory_order_acquire);
    return open ? *open : open_now();
  }
  Opened& open_now();
  void announce(const Entry& entry);
  /// Text of findings on stderr, in the style that suits it.
  void tell(std::string_view text) const;
  void tell_finding(const Entry& entry);
  /// From here on this signal asks for leaks: they are told after the next call about memory. Left
  /// alone where the program has a handler of its own.
  void tell_leaks_at(int signal) noexcept;
  void open_ring() noexcept;
  /// CUVMM_FAIL and CUVMM_FAIL_LOG, anew in a child of fork.
  void choose_failures();
  void log_failures(const char* ended) noexcept;
  std::uint64_t fault_address();
  /// The function of the driver that this thread is in, as the last calls show it; "": none.
  static std::string call_in_driver();
  void tell_fault(StackId stack);
  void last_report(const char* ended);
  void tell_summary();
  /// Looks for leaks where the process ends by itself, or in exit().
  void judge_leaks(bool exits);
  void find_leaks(Session& session);
  /// What is left and is no leak: counted, and kept for the report.
  void find_in_use();
  /// All of it for who asks, by place; "" where nobody does.
  std::string in_use_listed() const;
  std::string in_use_sentence() const;
  bool lists_in_use() const;
  void find_escapes();
  /// From here on refused calls of functions that are not checked are noted, too.
  void keep_journal(const RealDriver& driver) noexcept;
  /// What was noted becomes refusals. They are told where the process does not end `well`.
  void read_journal(bool well);
  bool ended_well() const;
  struct ReportContext context(const char* ended);
  void write_json(const char* ended);

  int pid_;
  bool forked_ = false;  ///< a child of fork, of a process that used the shim
  Options options_;
  Labels labels_;  ///< what the program says of itself
  std::unique_ptr<Ledger> ledger_;
  Suppressions suppressions_;
  std::atomic<Opened*> opened_{nullptr};
  ReportFile report_;      ///< CUVMM_REPORT
  ReportFile own_report_;  ///< this process's file in CUVMM_REPORT_DIR
  std::atomic<unsigned> announced_{0};
  /// How many findings of each rule there were to print.
  std::array<std::atomic<int>, static_cast<std::size_t>(Rule::kCount)> told_{};
  LastCalls last_calls_;
  std::atomic<bool> main_returned_{false};  ///< of what a log of failures says
  Journal journal_;
  /// What a thread may still use, if it is not asleep: numbers of the calls that made it.
  std::vector<std::uint64_t> undecided_;
  std::atomic<bool> leaks_judged_{false};
  AllInUse in_use_, ended_with_context_;
  std::uintptr_t died_of_ = 0;  ///< the address that the signal names; 0: none
  bool died_in_exit_ = false;   ///< the signal came in a handler of exit(), or in a destructor
  std::string fault_;           ///< as JSON, where there was one
  std::atomic<bool> fault_known_{false};

  OwnedMutex mutex_;
  std::set<std::string> unchecked_ CUVMM_GUARDED_BY(mutex_);
  std::string escaped_;  ///< as JSON, once the process ends: libcudas beside the shim
  std::set<std::string> notes_ CUVMM_GUARDED_BY(mutex_);  ///< what is missing from the report
};

}  // namespace cuvmm::shim
