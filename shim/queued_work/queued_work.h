// SPDX-License-Identifier: Apache-2.0
// Follows the work that the program queues: the memory that it uses, and its order. When a call
// takes memory away, asks the driver whether the work is over. All of this sleeps until the program
// has memory whose end cuvmm checks.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "rulebook/base/found_work.h"
#include "rulebook/containers/rare_list.h"
#include "rulebook/order/host_wait.h"
#include "rulebook/order/order_state.h"
#include "rulebook/order/uses.h"
#include "shim/base/bounds.h"
#include "shim/base/owned_mutex.h"
#include "shim/queued_work/arguments/known_arguments.h"
#include "shim/queued_work/graph/followed_graphs.h"
#include "shim/queued_work/graph/graph_memory.h"
#include "shim/queued_work/own_events.h"
#include "shim/queued_work/questions.h"
#include "shim/queued_work/stream_table.h"
#include "shim/queued_work/watched_memory.h"
#include "shim/queued_work/work_counts.h"
#include "shim/settings/async_mode.h"

namespace cuvmm::shim {

struct WorkOptions {
  AsyncMode mode = AsyncMode::kOff;
  bool unordered = false;  ///< work that happened to be over has a finding as well
  Questions questions;
};

/// Thread-safe. A thread never holds the lock of this class across a driver call, nor while it
/// takes another lock.
class QueuedWork {
 public:
  explicit QueuedWork(const WorkOptions& options)
      : options_(options), arguments_(options_.questions, options_.unordered) {}

  /// Whether the program has memory whose end cuvmm checks, and queued work is followed.
  bool active() const { return active_.load(std::memory_order_relaxed); }
  /// Starts to follow queued work, because the program is about to have memory whose end cuvmm
  /// checks.
  void wake() {
    if (options_.mode == AsyncMode::kOff || !options_.questions.complete()) return;
    active_.store(true, std::memory_order_relaxed);
  }
  /// Notes uses of this memory from now on. The address of its end counts as part of it.
  void follow(Address base, Size size) {
    if (!active() || !bounds_.holds(base) || !bounds_.holds(base + size)) [[unlikely]]
      follow_more(base, size);
  }
  /// follow(), for memory that is no part of a reservation.
  void follow_named(Address base, Size size) {
    names_memory_.store(true, std::memory_order_relaxed);
    follow(base, size);
  }
  /// Whether follow_named() was called: memory that is followed may lie outside of reservations.
  bool names_memory() const { return names_memory_.load(std::memory_order_relaxed); }
  /// Notes memory that the host reads and writes while kernels do.
  void reaches_host(Address base, Size size) {
    host_.widen(base, size);
    arguments_.changed();
  }
  const Bounds& host() const { return host_; }
  /// Notes page-locked memory of the host whose pages may go while the program still uses it: it
  /// ends, or the program registered pages of its own.
  void may_lose_pages(Address base, Size size) { losing_pages_.widen(base, size); }
  const Bounds& losing_pages() const { return losing_pages_; }
  /// Notes addresses that a launch must not get before memory is mapped there.
  void reserved(Address base, Size size) {
    if (options_.mode != AsyncMode::kOff) bounds_.widen(base, size + 1);
  }
  /// Follows the memory of an object, until unwatch().
  void watch(std::uint64_t object, const Watched& memory, bool again = false);
  void unwatch(std::uint64_t object, std::uint64_t ended_by);
  WatchedMemory& watched() { return watched_; }
  /// Whether unfinished work may have used these addresses, whichever objects owned them then.
  bool may_be_used(UsedRange memory);
  const Bounds& bounds() const { return bounds_; }
  const Questions& questions() const { return options_.questions; }
  KnownArguments& arguments() { return arguments_; }
  FollowedGraphs& graphs() { return graphs_; }
  const FollowedGraphs& graphs() const { return graphs_; }
  /// Whether cuvmm follows work, or may do so later.
  bool follows() const { return options_.mode != AsyncMode::kOff && options_.questions.complete(); }
  /// Whether graphs are read when they are instantiated: this begins before active() does, because
  /// a graph may be the first to allocate memory.
  bool judges_graphs() const { return follows() && options_.questions.tells_graphs(); }
  GraphMemoryReader memory_reader() {
    return {options_.questions, arguments_.layouts(), arguments_.tensor_maps()};
  }
  NodeReader node_reader() { return node_reader(bounds_); }
  NodeReader node_reader(const Bounds& bounds) {
    return {options_.questions, arguments_.layouts(), arguments_.tensor_maps(), bounds, &host_};
  }

  /// A call that is about to act on a stream. The ticket is empty for an unknown or capturing
  /// stream, whose work cuvmm does not note.
  struct Ticket {
    StreamId stream = 0;
    bool alone = false;
    bool tells = false;
    std::uint64_t overlaps = 0;
    explicit operator bool() const { return stream != 0; }
  };
  static_assert(sizeof(Ticket) <= 16, "two registers hold it");
  /// `per_thread`: a handle of 0 is the thread's own default stream. The caller hands each ticket
  /// to one of the functions below, and hands `reserved` to that function too if it takes one.
  [[gnu::hot]] Ticket enter(CUstream handle, bool per_thread, ReservedEvent* reserved = nullptr);
  /// enter() for a copy or fill. `tells`: with begin_to_tell(); `before`: gets before_next(),
  /// unless it is null. Both are left out while no work is noted.
  [[gnu::hot]] Ticket enter_transfer(CUstream handle, bool per_thread, bool tells, Clock* before);
  /// act() and settle() for a copy or fill that uses no memory which cuvmm follows; ends what
  /// `tells` began.
  [[gnu::hot]] void pass(const Ticket& ticket, HostWait wait, const Clock* before);
  void cancel(const Ticket& ticket, const ReservedEvent& reserved = {});
  /// The call queued work that uses no memory which cuvmm follows.
  [[gnu::hot]] void act(const Ticket& ticket, Launch launch = Launch::kNone,
                        const ReservedEvent& reserved = {});
  /// act(), for work that allocates memory of a pool.
  void allocate(const Ticket& ticket, const Watched& memory);
  /// The newest work of the stream, the launch of a graph, has allocated memory, which outlives the
  /// launch.
  void leave_behind(const Ticket& ticket, const Watched& memory);
  /// A node of another graph frees such memory; cuvmm does not follow the launches of that graph,
  /// and forgets the memory.
  void free_elsewhere(Address base);
  bool allocates() const { return allocates_.load(std::memory_order_relaxed); }
  /// Memory of a pool whose allocation does not come before the next work of a stream.
  struct Early {
    Address address = 0;
    std::uint64_t allocated_on = 0;  ///< handle of the stream that allocates the memory; the stream
                                     ///< is busy
    std::size_t place = 0;           ///< the index in the memory of the work
    bool of_graph = false;           ///< the launch of a graph allocates it
  };
  /// The first address, from index `first` on, that the next work of the ticket's stream would use
  /// too early.
  std::optional<Early> comes_early(const Ticket& ticket, const UsedMemory& memory,
                                   std::size_t first = 0);
  /// The handle of the ticket's stream.
  std::uint64_t stream_of(const Ticket& ticket);
  /// `use`: the facts that are known before the stream is looked up. `surest`: the surest evidence
  /// in `memory`. Returns the work's position on the stream; 0 if unknown.
  [[gnu::hot]] Position use(const Ticket& ticket, const Use& use, const UsedMemory& memory,
                            Launch launch = Launch::kNone, Evidence surest = Evidence::kByType,
                            const ReservedEvent& reserved = {});
  Position use(const Ticket& ticket, const Use& use, const Uses::Shared& ranges);
  void record(const Ticket& ticket, CUevent event);
  void wait(const Ticket& ticket, CUevent event);
  /// The next work of the ticket's stream will record the event once that work has begun.
  void record_ahead(const Ticket& ticket, CUevent event);
  /// All work of the context, or of all contexts if `context` is null.
  void record_context(CUcontext context, CUevent event);
  void wait_in_context(CUcontext context, CUevent event);

  // The work for which the host is going to wait; over() notes that the work is over.
  Clock given(CUstream handle, bool per_thread);
  Clock recorded(CUevent event);
  /// Null: the current context.
  Clock given_to(CUcontext context);
  void over(const Clock& clock);
  // The functions for calls that wait as a side effect (shim/queued_work/work_waits.cc). Their
  // results are empty if no work is noted.
  bool has_pending() const { return pending_.load(std::memory_order_relaxed); }
  Clock before_next(const Ticket& ticket);
  Clock everything();
  /// The host may have learned that this work is over, or may learn it without a call.
  void tell(const Clock& clock);
  /// All kernels may have told the host by words in memory how far they are, because the newest
  /// work of this stream copied such a word.
  void tell_beside(const Ticket& ticket);
  /// The work of this ticket may tell the host that it and the work before it are over, and may do
  /// so before the call returns. Lasts until the end of a Telling.
  void begin_to_tell(Ticket& ticket);
  class Telling {
   public:
    Telling(QueuedWork& work, const Ticket& ticket) : work_(work), ticket_(ticket) {}
    Telling(const Telling&) = delete;
    Telling& operator=(const Telling&) = delete;
    ~Telling() {
      if (ticket_.tells) [[unlikely]]
        work_.end_to_tell(ticket_);
    }

   private:
    QueuedWork& work_;
    const Ticket& ticket_;
  };
  /// Notes which work the host knows to be over after work was queued at the position `own`.
  /// `before`: the work that comes before it; null if the caller did not ask for that.
  void settle(const Ticket& ticket, HostWait wait, const Clock* before, Position own);
  /// The newest work of the ticket's stream waits for a word or a semaphore.
  void hear(const Ticket& ticket);
  /// Another process may see when the event is over, or may record it.
  void share(CUevent event);
  /// Whether cuvmm watches memory of a pool that begins at the address, and has noted work.
  bool watches_pool(std::uint64_t address) { return has_pending() && watched_.holds_pool(address); }

  /// Notes that captures may be under way from now on.
  void begin_capture() { captures_.store(true, std::memory_order_relaxed); }
  bool captures() const { return captures_.load(std::memory_order_relaxed); }
  /// Whether work that is queued to the stream becomes part of a graph. Asks the driver.
  bool captured(CUstream handle, bool per_thread) const {
    return captures() && active() && capturing(key_of(handle, per_thread));
  }
  /// The same where nobody may ask the driver: then any stream may be one that captures.
  bool may_be_captured(CUstream handle) const {
    return captures() && (!active() || capturing(key_of(handle, false)));
  }
  /// Called before the driver's call. These functions wait for threads that ask about a stream.
  void destroy_stream(CUstream handle);
  void end_context();
  void forget(CUevent event);

  /// The driver runs launches of one executable graph one after the other, also on several streams
  /// (cuda.h, cuGraphLaunch): the next work of the stream comes after the graph's last launch.
  void follow_launch(const Ticket& ticket, CUgraphExec exec);
  /// Notes that the newest work of the stream is the graph's last launch.
  void note_launch(const Ticket& ticket, CUgraphExec exec);
  void forget_graph(CUgraphExec exec);

  /// The memory for whose work find() looks.
  struct Taken {
    UsedRange memory;
    std::uint64_t since = 0;             ///< work from earlier calls than this one is left out
    const Ticket* ordered_by = nullptr;  ///< and work that comes before the next work of this
                                         ///< ticket is left out
    MemoryBefore before = {};
    std::uint64_t end_since = AskedMemory::kNever;
  };
  /// Finds queued work that uses the memory and may be unfinished; the worst comes first. Asks the
  /// driver.
  void find(const Taken& taken, RareList<FoundWork>& found);

  WorkCounts counts() const;
  /// The first use that counts as WorkCounts::unawaited; `perhaps`: as perhaps_unawaited.
  UnawaitedUse first_unawaited(bool perhaps) const;

  bool held_here() const {
    return mutex_.held_here() || arguments_.held_here() || graphs_.held_here() ||
           watched_.held_here();
  }
  void lock_for_fork() CUVMM_UNCHECKED;
  void unlock_after_fork() CUVMM_UNCHECKED;
  void start_in_child(bool whole) CUVMM_UNCHECKED;

 private:
  struct Candidate {
    StreamId stream = 0;
    Use use;
    UsedRange range;
    bool is_end = false, may_be_end = false;  ///< as in FoundWork
    CUresult event_answer = CUDA_ERROR_UNKNOWN;
  };
  /// A stream about which the driver is asked.
  struct Asked {
    StreamId stream = 0;
    StreamKey key;
    std::uint64_t context = 0;
    Clock reached;
    std::uint64_t actions = 0;
    bool quiet = false;  ///< no thread was inside of a call on the stream
    bool destroyed = false;
    std::uint64_t last_event = 0;  ///< the last event of a destroyed stream
    CUresult answer = CUDA_ERROR_UNKNOWN;
  };

  [[gnu::cold]] void follow_more(Address base, Size size);
  [[gnu::hot]] StreamKey key_of(CUstream handle, bool per_thread) const;
  [[gnu::hot]] std::uint64_t current_context() const;
  bool capturing(const StreamKey& key) const;
  LearnedStream learn(const StreamKey& key) const;
  [[gnu::always_inline]] inline Ticket let_in(Stream& stream, ReservedEvent* reserved)
      CUVMM_NEEDS(mutex_);
  [[gnu::always_inline]] inline void begin_transfer(Stream& stream, Ticket& ticket, bool tells,
                                                    Clock* before) CUVMM_NEEDS(mutex_);
  /// settle() with the lock.
  void settle_here(const Ticket& ticket, HostWait wait, const Clock* before, Position own)
      CUVMM_NEEDS(mutex_);
  /// let_in() for a stream that no call has used before.
  [[gnu::cold, gnu::noinline]] Ticket meet(const StreamKey& key, ReservedEvent* reserved);
  [[gnu::hot]] void count(Launch launch) CUVMM_NEEDS(mutex_);
  [[gnu::hot]] Stream* leave(const Ticket& ticket) CUVMM_NEEDS(mutex_);
  /// The position of the next work on the stream, and whether it is sure; position 0: the work is
  /// not noted.
  struct Place {
    Position position = 0;
    bool sure = false;
  };
  [[gnu::hot]] Place next_place(const Ticket& ticket, const Stream& stream) CUVMM_NEEDS(mutex_);
  template <class Memory>
  [[gnu::hot]] Position add_use(const Ticket& ticket, const Use& use, const OwnEvent& event,
                                const Memory& memory) CUVMM_NEEDS(mutex_);
  void drop_finished(StreamId stream) CUVMM_NEEDS(mutex_);
  void dropped(StreamId stream, const Use& use) CUVMM_NEEDS(mutex_);
  void close(StreamId id) CUVMM_NEEDS(mutex_);
  void forget_stream(StreamId id) CUVMM_NEEDS(mutex_);
  void sweep_destroyed() CUVMM_NEEDS(mutex_);
  OwnEvent event_behind(const StreamKey& key);
  void end_to_tell(const Ticket& ticket);
  /// Whether the host may have learned that the work is over.
  bool reported(StreamId stream, Position work) CUVMM_NEEDS(mutex_);
  OwnEvent record_own(const Ticket& ticket);
  [[gnu::hot]] OwnEvent record_own(const Ticket& ticket, const ReservedEvent& reserved);
  void give_back(const OwnEvent& own) CUVMM_NEEDS(mutex_) {
    if (own.event != 0) [[unlikely]]
      events_.give_back(own);
  }

  struct Birth;
  /// The record of the allocation at `address`; null unless comes_early() has to ask the driver
  /// about it.
  const Birth* unawaited_birth(const Ticket& ticket, Address address) CUVMM_NEEDS(mutex_);
  void note_birth(const Birth& birth, Address base) CUVMM_NEEDS(mutex_);
  /// A stream cannot end between these two calls.
  Asked begin_to_ask(StreamId id) CUVMM_NEEDS(mutex_);
  void end_to_ask(const Asked& asked) CUVMM_NEEDS(mutex_);
  /// False for a stream about which the driver must not be asked.
  bool ask(Asked& asked) const;
  bool collect(const Taken& taken, std::vector<Candidate>& uses, std::vector<Asked>& streams);
  bool ends_unseen(const Taken& taken, const Use& use) const;
  void ask(std::vector<Candidate>& uses, std::vector<Asked>& streams) const;
  CUresult ask_stream(const Asked& stream) const;
  void judge(const Taken& taken, const std::vector<Candidate>& uses,
             const std::vector<Asked>& streams, RareList<FoundWork>& found);
  /// `over`: all work of the asked streams that are idle, and the work before it.
  void judge_one(const Taken& taken, const Candidate& candidate, const Asked& asked,
                 const Clock& over, RareList<FoundWork>& found) CUVMM_NEEDS(mutex_);
  void note_unawaited(UnawaitedUse& first, const Taken& taken, const Candidate& candidate,
                      const Asked& asked) CUVMM_NEEDS(mutex_);
  bool certain(const Candidate& candidate, const Asked& asked) CUVMM_NEEDS(mutex_);
  bool reported_during_run(const Candidate& candidate) CUVMM_NEEDS(mutex_);
  const Work* work_of(const Use& use, const StreamKey& key) CUVMM_NEEDS(mutex_);

  // The members that each call reads lie together.
  std::atomic<bool> active_{false};
  std::atomic<bool> captures_{false};
  std::atomic<bool> pending_{false};  ///< uses may be noted
  std::atomic<bool> names_memory_{false};
  Bounds bounds_;
  Bounds host_;
  Bounds losing_pages_;
  const WorkOptions options_;
  KnownArguments arguments_;
  FollowedGraphs graphs_;
  WatchedMemory watched_;

  alignas(64) mutable OwnedMutex mutex_;
  // Written under the lock, and read without the lock.
  std::atomic<std::uint64_t> launches_{0}, hidden_{0}, dropped_{0};
  std::atomic<std::uint64_t> tracked_[3] = {};  ///< by Evidence
  OrderState order_ CUVMM_GUARDED_BY(mutex_);
  Uses uses_ CUVMM_GUARDED_BY(mutex_);
  StreamTable streams_ CUVMM_GUARDED_BY(mutex_);
  unsigned ending_ CUVMM_GUARDED_BY(mutex_) = 0;  ///< threads that are about to end a context
  static constexpr std::size_t kMostDestroyed = 64;
  std::vector<StreamId> destroyed_ CUVMM_GUARDED_BY(mutex_);  ///< destroyed streams whose work may
                                                              ///< be unfinished
  unsigned telling_ CUVMM_GUARDED_BY(mutex_) = 0;             ///< the number of threads in
                                                              ///< Tellings, for all streams
  OwnEvents events_ CUVMM_GUARDED_BY(mutex_);
  /// Memory of a pool, by its base, and the work that allocates it.
  struct Birth {
    Size size = 0;
    StreamId stream = 0;
    Position position = 0;
    std::uint64_t since = 0;  ///< as Watched::since
    bool of_graph = false;
  };
  static constexpr std::size_t kMostBirths = 65536;
  std::map<Address, Birth> births_ CUVMM_GUARDED_BY(mutex_);
  std::atomic<bool> allocates_{false};  ///< births_ may have entries
  /// Findings name these as long as the process lives.
  std::map<std::tuple<const void*, const void*, std::uint64_t>, Work> named_
      CUVMM_GUARDED_BY(mutex_);
  std::unordered_set<std::uint64_t> shared_events_ CUVMM_GUARDED_BY(mutex_);
  std::atomic<std::uint64_t> unawaited_{0};          ///< written under the lock
  std::atomic<std::uint64_t> perhaps_unawaited_{0};  ///< written under the lock
  std::atomic<std::uint64_t> hints_{0};              ///< written under the lock
  UnawaitedUse first_unawaited_ CUVMM_GUARDED_BY(mutex_), perhaps_ CUVMM_GUARDED_BY(mutex_);
};

}  // namespace cuvmm::shim
