// SPDX-License-Identifier: Apache-2.0
// Takes each call of this process through the steps of docs/architecture.md: look up facts, check,
// give up names, forward, record, report.
#pragma once

#include <atomic>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "api/driver/driver.h"
#include "rulebook/batch/operations.h"
#include "rulebook/check/check.h"
#include "rulebook/check/touch.h"
#include "shim/base/call_counter.h"
#include "shim/base/granular_bounds.h"
#include "shim/base/in_flight.h"
#include "shim/base/owned_mutex.h"
#include "shim/facts/facts.h"
#include "shim/findings/finding.h"
#include "shim/findings/purpose.h"
#include "shim/history/pool_questions.h"
#include "shim/history/process_history.h"
#include "shim/objects/in_use.h"
#include "shim/policy/policies.h"
#include "shim/policy/wait_policy.h"
#include "shim/recorder/mirror.h"
#include "shim/recorder/timeline.h"
#include "shim/refusals/arguments/given_argument.h"
#include "shim/session/call_observer.h"
#include "shim/session/session_options.h"
#include "shim/stack/stacks.h"

namespace cuvmm::shim {

struct CaptureCause;  // shim/session/capture_cause.h

/// Thread-safe. Never throws: an exception of the session's own turns the session off, and it
/// forwards later calls as they are.
class alignas(64) Session {
 public:
  /// `driver`, `sink` and `options.others` outlive the session.
  Session(const Driver& driver, SessionOptions options, FindingSink& sink)
      : driver_(driver),
        sink_(sink),
        options_(options),
        work_(options.work),
        facts_(driver, options.emulated) {}

  /// The path of one intercepted call: run() checks the call, forwards it to `symbol` exactly once
  /// with the arguments unchanged (not at all if --enforce answers it), and records it. Returns the
  /// result that the program gets. errno is as the driver left it; run() reads out-parameters only
  /// after success and never writes them. Not noexcept: a driver's call may be a cancellation
  /// point, whose unwinding passes through here.
  template <class CallStruct>
  CUresult run(Symbol symbol, const CallStruct& call, const Caller& caller) {
    return run_here(symbol, call, caller);
  }
  /// run(), inlined into its caller, for the wrappers.
  template <class CallStruct>
  [[gnu::hot, gnu::always_inline]] inline CUresult run_here(Symbol symbol, const CallStruct& call,
                                                            const Caller& caller);

  /// run() for a copy or fill that touches no reservation.
  template <class CallStruct, class Function>
  [[gnu::always_inline]] inline CUresult run_far(Symbol symbol, const CallStruct& call,
                                                 Function function, Step<CallStruct>& step,
                                                 const Caller& caller);

  /// The driver accepted the call: records it.
  template <class CallStruct>
  void note_success(Symbol symbol, const CallStruct& call, Step<CallStruct>& step,
                    const Caller& caller);
  /// The number of calls that the session saw, by entry point.
  std::uint64_t count(EntryPoint entry) const { return counter_.count(entry); }
  std::uint64_t total() const { return counter_.total(); }
  /// The number of the last call that was checked.
  std::uint64_t last_number() const { return numbers_.load(std::memory_order_relaxed); }
  /// Draws a number for an object that ends in a call which is not checked.
  std::uint64_t next_number() { return numbers_.fetch_add(1, std::memory_order_relaxed) + 1; }
  /// Makes a call that has no entry point; `wrong` has the violations of its arguments, which are
  /// reported if the driver refuses the call or dies in it. `function`: the call's name; the string
  /// lives as long as the process.
  template <class Make>
  CUresult call_with(const char* function, Violations wrong, const Caller& caller,
                     const Make& make);  // shim/session/call_with.h
  /// The driver refused a call that makes or changes a node of a graph, which touches these bytes:
  /// says why, if that is known. Called without a lock.
  [[gnu::cold]] void explain_node(const char* function, const Touch* touches, std::size_t count,
                                  CUresult result, const Caller& caller) noexcept;
  /// The driver refused a call that names an array, memory of the host, or memory that a node of a
  /// graph shall free: reports it if the object breaks this rule. Called without a lock.
  [[gnu::cold]] void explain_named(const char* function, Rule rule, std::uint64_t value,
                                   CUresult result, const Caller& caller) noexcept;
  /// The driver refused a call, and nothing explains it. Called without a lock.
  [[gnu::cold]] void describe_refusal(std::string_view function, CUresult result,
                                      const std::vector<GivenArgument>& given) noexcept;
  /// How often a call had to wait because another thread held the session's lock.
  std::uint64_t contended() const { return mutex_.contended(); }
  const QueuedWork& work() const { return work_; }
  /// cuDriverGetVersion's answer; 0 before the driver was initialised.
  int driver_version() const { return driver_version_.load(std::memory_order_relaxed); }

  /// Runs `read` on the model under the lock.
  template <class Reader>
  auto with_model(Reader&& read) {
    const Locked lock(mutex_);
    return read(static_cast<const Model&>(history_.model));
  }
  /// with_model() for the end of a process: runs nothing if a signal interrupted this thread while
  /// it held the lock, or if another thread holds the lock for longer than `limit`.
  template <class Reader>
  auto with_model_within(std::chrono::milliseconds limit, Reader&& read)
      -> std::optional<decltype(read(std::declval<const Model&>()))> {
    if (!mutex_.lock_within(limit)) return std::nullopt;
    const Locked lock(mutex_, kHeldAlready);
    return read(static_cast<const Model&>(history_.model));
  }
  /// The objects that are leaked if the process ends now (check_exit()); nullopt in the cases of
  /// with_model_within(). Objects that other threads work with are no leaks; nor are the objects of
  /// the last calls of a thread that the end `interrupted`. Threads in `asleep`, in ascending
  /// order, work with nothing. `undecided` gets the numbers of the calls whose memory is a leak
  /// unless a thread is about to use it: the caller decides by the time for which that thread has
  /// made no call.
  std::optional<Violations> leaks(std::chrono::milliseconds limit, bool (*fd_open)(const Export&),
                                  bool interrupted, std::vector<std::uint64_t>* undecided = nullptr,
                                  std::span<const std::uint32_t> asleep = {});
  /// All memory and descriptors that leaks() with the same `asleep` does not name; empty in the
  /// cases of with_model_within().
  AllInUse in_use(std::chrono::milliseconds limit, std::span<const std::uint32_t> asleep = {});
  /// The objects that the program has given up and still pins, now; nullopt in the cases of
  /// with_model_within(). The list may contain objects that the program's threads work with at the
  /// moment.
  std::optional<Violations> given_up(std::chrono::milliseconds limit,
                                     bool (*fd_open)(const Export&)) {
    return with_model_within(
        limit, [&](const Model& model) { return check_exit(model, fd_open, StillRunning{}); });
  }
  /// The next checked call that succeeds runs `what` after the driver has answered: once, and
  /// without a lock. Async-signal-safe.
  void ask(void (*what)()) noexcept {
    asked_.store(what);
    probes_wait_.store(true);
  }
  /// The uses of legacy IPC for the report; as IpcLog() if the program made none, or if the lock is
  /// not free within `limit`.
  IpcLog ipc_log(std::chrono::milliseconds limit) {
    if (!mutex_.lock_within(limit)) return {};
    const Locked lock(mutex_, kHeldAlready);
    return history_.ipc_log;
  }
  /// The program is about to close a descriptor that is in g_tracked. `sweeps`: the program has
  /// just closed the neighbouring number from the place of this call. Returns whether the
  /// descriptor is open and stands for memory.
  bool closing(int fd, bool sweeps, const Caller& caller) noexcept;
  /// The program made `to` a second number for the file of `from`; g_tracked has at least one of
  /// the two. The call closed the file that had the number `to` before.
  void duplicated(int from, int to, const Caller& caller) noexcept;
  /// Whether a descriptor is still open and still stands for the exported memory. Needs the lock,
  /// so only the reader of with_model() may call it.
  bool still_exported(const Export& exported) const CUVMM_UNCHECKED {
    return history_.still_exported(exported);
  }

  /// The name (shim/facts/descriptor.h) of the memory behind a leaked export, import or external
  /// memory; "" if the memory has no name. Takes the lock.
  std::string memory_of(const ObjectRef& object);

  /// Reports the facts that are known of a call that the driver did not survive.
  /// Returns whether there was something to report.
  bool report_crash(const InFlight& call) noexcept;
  /// report_crash() for a call of which only two facts are known: its name, which `name` finds, and
  /// the address at which the driver died.
  [[gnu::cold]] void report_crash_at(Address address, std::string (*name)()) noexcept;

  /// From here on other processes see the objects that this process holds (shim/recorder/mirror.h)
  /// by a file in `folder`.
  void show_in(const std::string& folder, const std::string& driver) {
    const Locked lock(mutex_);
    mirror_.choose(folder, driver);
  }
  /// From here on the session records each change of memory with its time in a file in `folder`.
  void keep_timeline_in(const std::string& folder) {
    const Locked lock(mutex_);
    timeline_.choose(folder);
    if (timeline_.on()) facts_.want_tiles();
  }
  /// Completes the timeline's file; returns the stacks that the file names.
  std::vector<StackId> finish_timeline(std::chrono::milliseconds limit) {
    if (!mutex_.lock_within(limit)) return {};
    const Locked lock(mutex_, kHeldAlready);
    return timeline_.finish(history_.model);
  }
  void stop_showing(std::chrono::milliseconds limit) {
    if (!mutex_.lock_within(limit)) return;
    const Locked lock(mutex_, kHeldAlready);
    mirror_.finish();
  }

  /// `observer` lives as long as the session. Thread-safe.
  void observe(CallObserver* observer) { observer_.store(observer, std::memory_order_release); }
  /// The last call that ended a context; call 0 if no call did, or if the lock is not free within
  /// 20 ms.
  Origin context_end() {
    if (!mutex_.lock_within(std::chrono::milliseconds(20))) return {};
    const Locked lock(mutex_, kHeldAlready);
    return history_.causes.context_end();
  }
  /// Whether the driver told a thread in a call that the driver has ended: the thread may wait now,
  /// with memory that it would have used.
  bool driver_ended() const { return driver_ended_.load(std::memory_order_relaxed); }
  /// The process from which this one inherited an initialised driver by fork, and whose driver it
  /// cannot use; 0 if there is none.
  int forked_from() const { return forked_from_; }
  bool off() const { return off_.load(std::memory_order_relaxed); }

  /// Called around fork, so that the child finds the model unlocked and whole; the child starts
  /// with an empty model. False if a signal handler that forks interrupted this thread inside of
  /// the session: the child must not look at the half-changed model.
  bool lock_for_fork() CUVMM_UNCHECKED {
    look_before_fork();
    if (mutex_.held_here() || facts_.held_here() || work_.held_here()) return false;
    facts_.lock_for_fork();
    mutex_.lock();
    work_.lock_for_fork();
    return true;
  }
  void unlock_after_fork() CUVMM_UNCHECKED {
    work_.unlock_after_fork();
    mutex_.unlock();
    facts_.unlock_after_fork();
  }
  void start_in_child(bool whole) CUVMM_UNCHECKED;

 private:
  friend struct CaptureCause;
  // shim/session/order_run.h
  template <class CallStruct>
  [[gnu::hot]] CUresult order(Symbol symbol, const CallStruct& call,
                              typename CallStruct::Function function, const Caller& direct);
  /// Says why the driver refused the call, if the reason is known. Called without a lock.
  template <class CallStruct>
  [[gnu::cold, gnu::noinline]] void explain_order(const CallStruct& call, CUresult result,
                                                  Violations ended, const Caller& caller);
  template <class CallStruct>
  [[gnu::hot]] void before_order(const CallStruct& call, bool per_thread,
                                 Ordering<CallStruct>& step);
  template <class CallStruct>
  [[gnu::hot]] void after_order(const CallStruct& call, CUresult result, const Caller& caller,
                                Ordering<CallStruct>& step);
  template <class CallStruct>
  [[gnu::always_inline]] inline void after_launch(const CallStruct& call, CUresult result,
                                                  const Caller& caller, Ordering<CallStruct>& step);
  template <class CallStruct>
  WorkEntry<CallStruct> enter_work(Symbol symbol, const CallStruct& call) noexcept;
  template <class CallStruct>
  [[gnu::hot]] void leave_work(const CallStruct& call, const WorkEntry<CallStruct>& ticket,
                               CUresult result, const Touched* touched,
                               const Caller& caller) noexcept;
  template <class CallStruct>
  HostWait wait_of(const CallStruct& call);
  template <class CallStruct>
  bool brings_words(const CallStruct& call);
  /// Whether a kernel gets memory that the host reads too. Takes the lock for words that no launch
  /// has looked at lately.
  [[gnu::cold, gnu::noinline]] bool gives_host_memory(const Layout& layout, void** parameters,
                                                      void** extra);
  /// Asks for the kinds of memory of both sides. Takes the lock.
  HostWait transfer_wait(TransferForm form, const Sides& sides);
  bool is_of_a_device(std::uint64_t address);
  /// Whether a copy or fill has a stream, and both sides on a device for sure: the host learns
  /// nothing by it. Takes the lock for memory that no call has used lately.
  template <class CallStruct>
  bool is_on_device(const CallStruct& call);
  [[gnu::hot]] bool is_known_of_a_device(std::uint64_t address);
  [[gnu::cold]] bool learn_of_a_device(std::uint64_t address, ArgumentCache::Asked asked);
  bool follows(const Touch& touch) const;
  /// `always`: becomes true where the memory has SYNC_MEMOPS.
  Place place_of(std::uint64_t address, bool streamless, bool& always);
  /// The arguments of a launch on this stream that name no usable memory. Takes the lock for
  /// arguments that this thread has not looked at lately.
  Violations wrong_arguments(CUstream stream, const LaunchArgument* arguments, std::size_t count) {
    bool all_around = true;
    return wrong_arguments(stream, arguments, count, all_around);
  }
  /// `all_around` becomes false unless the result holds for all addresses of the arguments'
  /// granules.
  Violations wrong_arguments(CUstream stream, const LaunchArgument* arguments, std::size_t count,
                             bool& all_around);
  /// wrong_arguments() for a kernel: one look-up if an earlier launch passed just these granules.
  [[gnu::always_inline]] inline Violations wrong_arguments(CUstream stream,
                                                           const Pointers& pointers);
  [[gnu::noinline]] Violations wrong_arguments(CUstream stream, const Pointers& pointers,
                                               ArgumentCache::Asked asked);
  /// The violations that the next work of the ticket's stream commits if it uses this memory.
  /// `name`: the program's word for the address.
  Violations early_use(const QueuedWork::Ticket& ticket, const char* name,
                       const UsedMemory& memory);
  /// Whether one of a kernel's addresses may be the end of memory that the kernel gets too. Takes
  /// the lock.
  [[gnu::cold]] bool may_be_end(const UsedMemory& memory, std::size_t place);
  /// The memory before an address, memory of graphs included. Takes the lock.
  [[gnu::cold]] MemoryBefore what_ends_at(Address address);
  /// The violations in the order of a graph that was instantiated.
  [[gnu::cold]] Violations note_graph(CUgraphExec exec, CUgraph graph, unsigned long long flags);
  /// The violations of a launch that frees memory which an earlier launch has left.
  [[gnu::cold]] Violations early_free(CUgraphExec exec, const QueuedWork::Ticket& ticket);
  /// A launch has allocated memory, which outlives it.
  [[gnu::cold]] void note_left(CUgraphExec exec, const QueuedWork::Ticket& ticket, Origin& launch);
  /// Notes the owners of the memory that these nodes use: all nodes of an executable graph, unless
  /// one is the `only` node that a call has changed.
  [[gnu::cold]] void note_owned(CUgraphExec exec, const std::vector<NodeUses>& nodes,
                                CUgraphNode only, bool updated);
  /// The violation of a launch whose graph uses memory that has ended.
  [[gnu::cold]] Violations ended_uses(CUgraphExec exec);
  /// Adds the memory that launches of graphs have left allocated.
  void add_graph_memory(AllInUse& all) CUVMM_NEEDS(mutex_);
  /// The violations in the order of a graph that was changed, with the memory that it uses since
  /// the change.
  [[gnu::cold]] Violations check_change(const OwnUses& own);
  /// The result for one of a launch's arguments.
  struct LookedAt {
    ArgumentVerdict verdict;
    bool all_around = false;  ///< the verdict holds for all addresses of the argument's granule
  };
  [[gnu::cold]] LookedAt look_at(std::span<const LaunchArgument> all, const LaunchArgument& one,
                                 int device);

  template <class CallStruct>
  [[gnu::hot]] void before(const CallStruct& call, Step<CallStruct>& step);
  template <class CallStruct>
  [[gnu::hot]] void after(const CallStruct& call, Step<CallStruct>& step);
  /// The driver refused the call: takes back the changes that the session made before it called the
  /// driver.
  template <class CallStruct>
  [[gnu::cold, gnu::noinline]] void refused(const CallStruct& call, CUresult result,
                                            Step<CallStruct>& step);
  /// The rest of the work on a call that was refused, that broke a rule, or that an observer
  /// watches.
  template <class CallStruct>
  [[gnu::cold, gnu::noinline]] void conclude(const CallStruct& call, const Answer& answer,
                                             Step<CallStruct>& step, const Caller& caller,
                                             CallObserver* observer, CallMoment moment);
  /// Answers a call that must not reach the driver; leaves `answer` empty if the call may.
  [[gnu::cold, gnu::noinline]] void enforce(const Violations& violations, Answer& answer) const;
  /// Learns facts of a handle or a pool that the model does not know. Called with the lock, and
  /// releases it while the driver answers.
  [[gnu::cold, gnu::noinline]] void ask_about(CUmemGenericAllocationHandle unknown, Facts& facts)
      CUVMM_NEEDS(mutex_);
  [[gnu::cold, gnu::noinline]] void ask_about(CUmemoryPool unknown, Facts& facts)
      CUVMM_NEEDS(mutex_);
  template <class CallStruct>
  [[gnu::cold, gnu::noinline]] void report_far_refusal(const CallStruct& call, CUresult result,
                                                       Step<CallStruct>& step,
                                                       const Caller& caller) noexcept;
  template <class CallStruct>
  [[gnu::cold, gnu::noinline]] void recheck_uninitialized(const CallStruct& call,
                                                          Step<CallStruct>& step);

  /// Shows other processes the objects that the model holds now.
  template <bool kTaken = false, class CallStruct>
  [[gnu::always_inline]] inline void mirror(const CallStruct& call, const Step<CallStruct>& step)
      CUVMM_NEEDS(mutex_);

  template <class CallStruct>
  [[gnu::always_inline]] inline void note_change(const CallStruct& call,
                                                 const Step<CallStruct>& step) CUVMM_NEEDS(mutex_);
  /// Takes the call's change back, because the driver refused the call.
  template <class CallStruct>
  void undo(const CallStruct& call, Step<CallStruct>& step) CUVMM_NEEDS(mutex_);

  /// The rules that the call breaks; copies are judged by the bytes that they touch. Needs the
  /// lock, except for calls that read only the platform, because the platform is written once.
  template <class CallStruct>
  Violations check_call(const CallStruct& call, const Step<CallStruct>& step) const CUVMM_UNCHECKED;
  /// Policies read the history only in the hooks that the session calls with the lock.
  PolicyResources policy_resources() CUVMM_UNCHECKED {
    return {facts_, history_, bounds_, work_, mutex_, numbers_};
  }
  /// Gives a call its number. Launches take no lock, so that the counter is atomic.
  void number(Origin& origin) {
    origin.call = numbers_.fetch_add(1, std::memory_order_relaxed) + 1;
    origin.thread = t_state.thread;
  }
  /// The driver refused a copy or fill that broke no rule: looks for an explanation.
  template <class CallStruct>
  [[gnu::cold, gnu::noinline]] void explain_refusal(const CallStruct& call, Step<CallStruct>& step);
  /// Learns facts of objects that the model does not know, and of exported descriptors. Needs the
  /// lock, and may release it meanwhile.
  template <class CallStruct>
  [[gnu::always_inline]] inline void look_up_unknown(const CallStruct& call, LateFacts& facts)
      CUVMM_NEEDS(mutex_);

  /// Whether one of the batch's operations may touch a reservation.
  template <class CallStruct>
  bool near_reservations(const CallStruct& batch) const;
  /// Looks for an explanation why the driver refused a copy that broke no rule. Takes the lock.
  [[gnu::cold]] Violations explain_refusal(const Touch*, std::size_t n, const CUstream* on = {});
  /// explain_refusal() for the copies and fills of a graph. Asks the driver for the graph's nodes.
  [[gnu::cold]] Violations explain_graph(CUgraph graph);
  [[gnu::cold]] bool touches_well(const Touch& touch, const Violation& violation) const;
  /// Explains why the driver refused a stream's handle: the stream was destroyed. Takes the lock.
  [[gnu::cold]] Violations explain_stream(CUstream stream);
  [[gnu::cold]] bool is_node_memory(Address address);
  /// explain_refusal() for memory of a graph's allocation node, for work that is not captured.
  [[gnu::cold]] Violations explain_graph_memory(const Touch& touch);
  /// The memory of the host that the call names, that has ended, and whose pages are gone. Locks.
  [[gnu::cold]] Violations lost_host_memory(const Call& call, CUstream stream);
  /// Explains the driver's death at memory of the host.
  [[gnu::cold]] Violations explain_crash(const Call& call);
  void find_devices(const Touched& touched, CUstream stream, Facts::Place& place);
  /// Asks the driver for the facts of this machine, once the driver is initialised. If the driver
  /// is not, notes that in `facts`.
  [[gnu::cold]] void learn_platform(Facts& facts);
  /// Turns violations into findings and hands the findings on. Returns whether there were any: if
  /// so, they explain a refusal. Called without a lock.
  [[gnu::cold]] bool report(const Call& call, Violations violations, const Answer& answer,
                            std::uint64_t index, StackId stack);
  /// The driver refused the call, and no known fact explains the refusal. Called without a lock.
  [[gnu::cold]] void note_refusal(const Call& call, CUresult result, std::uint64_t index,
                                  StackId stack);
  std::optional<MemoryFacts> memory_facts(const Call& call, std::vector<Refusal::Aside>& asides);
  // shim/cause/name_cause.cc
  /// Finds the earlier event that caused `violations`, or the refusal itself. Called without a
  /// lock.
  [[gnu::cold]] void name_cause(const Call& call, CUresult result, Violations& violations);
  /// A call succeeded: if captures go on, notes the node that it made.
  template <class CallStruct>
  void note_captured(Symbol symbol, const CallStruct& call, Origin& by, const Caller& caller);
  /// Whether a child of fork inherits a driver that it cannot use.
  [[gnu::cold]] void look_before_fork() noexcept;
  [[gnu::cold]] void note_graph_launch(CUgraphExec exec, const Caller& caller);
  /// Whether memory of an earlier launch explains the refusal of a launch.
  [[gnu::cold]] bool explain_relaunch(const Call& call, CUgraphExec exec, CUresult result,
                                      const Caller& caller);
  /// A call of area `order` while the session follows no queued work, only captures or graphs; or a
  /// call that names objects which have `ended`.
  template <class CallStruct>
  [[gnu::cold, gnu::noinline]] CUresult order_aside(Symbol symbol, const CallStruct& call,
                                                    typename CallStruct::Function function,
                                                    const Caller& direct, Violations ended);
  /// As report(), and never throws: a driver refused a call whose arguments are wrong.
  [[gnu::cold]] void report_wrong(const Call& call, const Answer& answer, Violations wrong,
                                  std::uint64_t index, const Caller& caller) noexcept;
  /// Whether the session looks for a cause of the call's answer although it follows no work.
  template <class CallStruct>
  bool looks_aside() const;
  /// Follows captures, and memory of graphs, through a call that the driver has answered.
  template <class CallStruct>
  [[gnu::cold, gnu::noinline]] void follow_captures(const CallStruct& call, bool per_thread,
                                                    CUresult result, const Caller& caller);
  /// Reports the arguments of a launch that name no usable memory, although the driver refused the
  /// launch. Called without a lock.
  [[gnu::cold, gnu::noinline]] void refused_launch(const Call& call, CUresult result,
                                                   const Violations& violations,
                                                   const Caller& caller);
  /// A call succeeded while advice about refused calls waits for a call that gets the memory which
  /// they wanted.
  [[gnu::cold, gnu::noinline]] void fell_back(EntryPoint entry, Refusal::Purpose purpose);
  [[gnu::cold]] void turn_off() noexcept;

  // Every call reads these up to options_.enforce, in one cache line, and few calls write them.
  const Driver& driver_;
  std::atomic<CallObserver*> observer_{nullptr};
  std::atomic<bool> open_captures_{false};
  std::atomic<bool> driver_ended_{false};
  std::atomic<bool> off_{false};
  /// Advice about a refused call waits for a fall-back, or ask() has a request.
  std::atomic<bool> probes_wait_{false};
  std::atomic<bool> platform_known_{false};
  std::atomic<bool> capture_lost_{false};  ///< a finding reported it: later failures are its echo
  bool initialized_ = false;               ///< the state at the last fork
  int forked_from_ = 0;                    ///< process that had initialised this one's driver
  std::atomic<int> driver_version_{0};
  FindingSink& sink_;
  const SessionOptions options_;
  GranularBounds bounds_;
  QueuedWork work_;

  std::atomic<void (*)()> asked_{nullptr};
  std::atomic<int> neighbours_asked_{0};
  PoolQuestions pool_questions_;
  FactFinder facts_;
  CallCounter counter_;

  // A cache line of its own for the members that VMM calls write, apart from the members that
  // copies read. The history's model begins a cache line.
  alignas(64) OwnedMutex mutex_;           ///< no thread holds it across a driver call
  std::atomic<std::uint64_t> numbers_{0};  ///< the number of the newest checked call
  Timeline timeline_ CUVMM_GUARDED_BY(mutex_);
  static_assert(sizeof(OwnedMutex) + sizeof(Timeline) + 2 * sizeof(std::uint64_t) == 64);
  // The model's first word ends that cache line.
  ProcessHistory history_ CUVMM_GUARDED_BY(mutex_);
  Mirror mirror_ CUVMM_GUARDED_BY(mutex_);
};

}  // namespace cuvmm::shim
