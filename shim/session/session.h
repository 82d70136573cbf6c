// SPDX-License-Identifier: Apache-2.0
// Takes each call of this process through the steps of docs/architecture.md: look up facts, check,
// give up names, forward, record, report.
#pragma once

#include <atomic>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "api/driver.h"
#include "rulebook/check.h"
#include "rulebook/data/touch.h"
#include "shim/facts/descriptor.h"
#include "shim/facts/facts.h"
#include "shim/facts/late_facts.h"
#include "shim/intercept/call_counter.h"
#include "shim/intercept/call_traits.h"
#include "shim/intercept/in_flight.h"
#include "shim/report/finding.h"
#include "shim/report/ipc_log.h"
#include "shim/session/model_mutex.h"
#include "shim/session/wish.h"
#include "shim/stack/stacks.h"

namespace cuvmm::shim {

struct SessionOptions {
  bool enforce = false;   ///< answer what is forbidden instead of forwarding it
  bool emulated = false;  ///< the driver is cuvmm's emulator
};

/// Sees calls after they succeeded (the trace). Called without a lock.
class CallObserver {
 public:
  virtual ~CallObserver() = default;
  virtual void after(const Call& call, CUresult result) = 0;
};

/// Thread-safe. Never throws: a failure of its own turns it off, and calls are forwarded as they
/// are.
class alignas(64) Session {
 public:
  /// All three outlive the session.
  Session(const Driver& driver, SessionOptions options, FindingSink& sink)
      : driver_(driver), options_(options), sink_(sink), facts_(driver, options.emulated) {}

  /// The life of one intercepted call: checked, forwarded to `symbol` exactly once with the same
  /// arguments (not at all where --enforce answers), recorded. Returns what the program gets.
  /// errno is what the driver left; out-parameters are read only after success, never written.
  /// Not noexcept: a driver's call may be a cancellation point, whose unwinding passes through
  /// here.
  template <class CallStruct>
  [[gnu::hot]] CUresult run(Symbol symbol, const CallStruct& call, const Caller& caller);

  /// Calls seen, by entry point.
  std::uint64_t count(EntryPoint entry) const { return counter_.count(entry); }
  std::uint64_t total() const { return counter_.total(); }
  /// How often a call had to wait for another thread's look at the model.
  std::uint64_t contended() const { return mutex_.contended(); }
  /// cuDriverGetVersion's answer; 0 before the driver was initialised.
  int driver_version() const { return driver_version_.load(std::memory_order_relaxed); }

  /// Runs `read` on the model under the lock.
  template <class Reader>
  auto with_model(Reader&& read) {
    const std::lock_guard lock(mutex_);
    return read(static_cast<const Model&>(model_));
  }
  /// The same for the end of a process: nothing where a signal interrupted this thread under the
  /// lock, or where another one keeps it.
  template <class Reader>
  auto with_model_within(std::chrono::milliseconds limit, Reader&& read)
      -> std::optional<decltype(read(std::declval<const Model&>()))> {
    const LockedWithin lock(mutex_, limit);
    if (!lock) return std::nullopt;
    return read(static_cast<const Model&>(model_));
  }
  /// What is leaked when the process ends now (check_exit()); nothing as with_model_within(). What
  /// other threads work with is not; nor, in a thread that was `interrupted` by the end, what its
  /// last calls made.
  std::optional<Violations> leaks(std::chrono::milliseconds limit, bool (*fd_open)(const Export&),
                                  bool interrupted);
  /// The uses of legacy IPC for the report, as JSON; "" where there are none, or no lock.
  std::string ipc_json(std::chrono::milliseconds limit) {
    const LockedWithin lock(mutex_, limit);
    return lock ? ipc_log_.json() : std::string();
  }
  /// Whether a descriptor is still open and still the one that was exported. Needs the lock, so it
  /// is for with_model's reader.
  bool still_exported(const Export& exported) const;

  /// The name (shim/facts/descriptor.h) of the memory behind a leaked export, import or external
  /// memory;
  /// "" where there is none. Takes the lock.
  std::string memory_of(const ObjectRef& object);

  /// Delivers what is known of a call that the driver did not survive.
  void report_crash(const InFlight& call) noexcept;

  /// Lives as long as the session. Thread-safe.
  void observe(CallObserver* observer) { observer_.store(observer, std::memory_order_release); }
  bool off() const { return off_.load(std::memory_order_relaxed); }

  /// Around fork, so that the child finds the model unlocked and whole; the child starts empty.
  /// False: a signal handler that forks interrupted this thread at work here, and the child must
  /// not look at what it left.
  bool lock_for_fork() {
    if (mutex_.held_here() || facts_.held_here()) return false;
    facts_.lock_for_fork();
    mutex_.lock();
    return true;
  }
  void unlock_after_fork() {
    mutex_.unlock();
    facts_.unlock_after_fork();
  }
  void start_in_child(bool whole);

 private:
  struct Nothing {};
  struct NoMemory {};
  struct NoRecord {};
  struct Touched {
    Touch list[kMaxTouches];
    std::size_t count = 0;
  };
  /// What is known of one call while it is made. It has only the members that this entry point
  /// needs.
  template <class CallStruct>
  struct Step {
    LateFacts facts;
    Violations violations;
    Origin origin;
    std::uint64_t entered = 0;  ///< when it was called, on IpcLog's clock; closes only
    /// Behind the descriptor that it imports.
    [[no_unique_address]] std::conditional_t<kImportsMemory<CallStruct>, std::string, NoMemory>
        memory;
    [[no_unique_address]] std::conditional_t<kRetires<CallStruct>, Retired, Nothing> retired;
    [[no_unique_address]] std::conditional_t<kRecordsAtOnce<CallStruct>, Recorded, NoRecord>
        recorded;
    [[no_unique_address]] std::conditional_t<kTouches<CallStruct>, Touched, Nothing> touched;
  };

  template <class CallStruct>
  [[gnu::hot]] void before(const CallStruct& call, Step<CallStruct>& step);
  template <class CallStruct>
  [[gnu::hot]] void after(const CallStruct& call, Step<CallStruct>& step);
  /// The driver said no: what was done before it was asked is taken back.
  template <class CallStruct>
  [[gnu::cold, gnu::noinline]] void refused(const CallStruct& call, CUresult result,
                                            Step<CallStruct>& step);
  /// What is left to do of a call that was refused, that broke a rule, or that somebody watches.
  template <class CallStruct>
  [[gnu::cold, gnu::noinline]] void conclude(const CallStruct& call, const Answer& answer,
                                             Step<CallStruct>& step, const Caller& caller,
                                             CallObserver* observer);
  /// The answer to a call that must not reach the driver; nothing where it may.
  [[gnu::cold, gnu::noinline]] void enforce(const Violations& violations, Answer& answer) const;
  /// What can be learned of a handle or a pool that the model does not know. Called with the lock,
  /// which it lets go meanwhile.
  [[gnu::cold, gnu::noinline]] void ask_about(CUmemGenericAllocationHandle stranger, Facts& facts);
  [[gnu::cold, gnu::noinline]] void ask_about(CUmemoryPool stranger, Facts& facts);
  template <class CallStruct>
  [[gnu::cold, gnu::noinline]] void report_uninitialized(const CallStruct& call,
                                                         Step<CallStruct>& step,
                                                         const Caller& caller) noexcept;
  template <class CallStruct>
  [[gnu::cold, gnu::noinline]] void recheck_uninitialized(const CallStruct& call,
                                                          Step<CallStruct>& step);

  /// The rules that the call breaks; copies by the bytes they touch.
  template <class CallStruct>
  Violations check_call(const CallStruct& call, const Step<CallStruct>& step) const;
  /// Gives a call its number, which costs nothing while the lock is held anyway. Needs it.
  void number(Origin& origin) {
    origin.call = ++numbers_;
    origin.thread = t_state.thread;
  }
  /// Whether something in `retired` was made after the call `at` began.
  [[gnu::cold]] static bool newer(const Retired& retired, Origin at);
  /// The driver accepted a call that broke a rule, so that nothing was retired for it before. Needs
  /// the lock.
  template <class CallStruct>
  [[gnu::cold, gnu::noinline]] void retire_late(const CallStruct& call, Step<CallStruct>& step);
  /// A refused copy or fill that broke no rule: what may explain it.
  template <class CallStruct>
  [[gnu::cold, gnu::noinline]] void explain_refusal(const CallStruct& call, Step<CallStruct>& step);
  /// Records what the call made; reads the out-parameters.
  template <class CallStruct>
  [[gnu::hot]] void commit(const CallStruct& call, Step<CallStruct>& step);
  /// What only the driver or the kernel knows of descriptors, contexts and streams that imports of
  /// external objects and sparse arrays name.
  template <class CallStruct>
  void look_up_external(const CallStruct& call, LateFacts& facts);
  /// What can be learned of objects that the model does not know, and of exported descriptors.
  /// Needs the lock, and may let it go meanwhile.
  template <class CallStruct>
  [[gnu::always_inline]] inline void look_up_unknown(const CallStruct& call, LateFacts& facts);
  /// Whether a descriptor stands for an allocation that this process exported. Needs the lock.
  bool exports_allocation(int fd) const;
  /// Bytes of the allocation behind a descriptor that this process exported; 0 unknown. Needs the
  /// lock.
  std::uint64_t exported_size(int fd) const;

  /// Whether a copy may touch a reservation; without a lock, by the bounds of all there ever were.
  bool near_reservations(const Touched& touched) const;
#if CUDA_VERSION >= 13000
  bool near_reservations(const calls::MemcpyBatchAsync& batch) const;
#endif
  /// Whether a reservation that was freed lay there. Needs the lock.
  bool was_reserved(Address address) const;
  /// What may explain that a copy which broke no rule was refused. Takes the lock.
  [[gnu::cold]] Violations explain_refusal(const Touched& touched);
  void widen_bounds(Address base, Size size);
  void find_devices(const Touched& touched, CUstream stream, Facts& facts);
  /// Asks the driver what machine this is, once it is initialised. If it is not, notes that in
  /// `facts`.
  [[gnu::cold]] void learn_platform(Facts& facts);
  /// Turns violations into findings and hands them on. Without a lock.
  [[gnu::cold]] void report(const Call& call, Violations violations, const Answer& answer,
                            std::uint64_t index, StackId stack);
  /// A call succeeded while advice about refused ones waits.
  [[gnu::cold, gnu::noinline]] void fell_back(EntryPoint entry, std::uint64_t wish);
  [[gnu::cold]] void turn_off() noexcept;

  const Driver& driver_;
  const SessionOptions options_;
  FindingSink& sink_;

  // Read by every call and hardly ever written.
  std::atomic<CallObserver*> observer_{nullptr};
  std::atomic<bool> off_{false};
  std::atomic<bool> probes_wait_{false};  ///< advice about a refused call waits for a fall-back
  std::atomic<bool> platform_known_{false};
  std::atomic<int> driver_version_{0};
  // Only ever widened: [low_, high_) holds every reservation, external buffer and memory of a pool
  // on the host that was seen.
  std::atomic<Address> low_{~Address{0}};
  std::atomic<Address> high_{0};

  FactFinder facts_;
  CallCounter counter_;

  // One cache line of what VMM calls write, apart from what copies read.
  alignas(64) ModelMutex mutex_;  ///< guards what follows; never held across a driver call
  std::uint64_t numbers_ = 0;     ///< of the calls that were checked
  /// The last call that ended memory of cuMemAlloc where a reservation may have been before: what
  /// is wrong there has this reason now.
  std::uint64_t plain_ended_ = 0;
  Model model_;
  std::unordered_map<int, DescriptorIdentity> exported_;
  IpcLog ipc_log_;
  // By handle: the names of imported memory.
  std::unordered_map<std::uint64_t, std::string> imported_;
};

}  // namespace cuvmm::shim
