// SPDX-License-Identifier: Apache-2.0
// Follows the work that the program queues: what it uses, and what orders it. Asks the driver
// whether it is over when memory is taken away. All of it sleeps until the program has memory that
// matters.
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
  bool unordered = false;  ///< work that happened to be over is found as well
  Questions questions;
};

/// Thread-safe. Its lock is never held across a driver call, nor while another lock is taken.
class QueuedWork {
 public:
  explicit QueuedWork(const WorkOptions& options)
      : options_(options), arguments_(options_.questions, options_.unordered) {}

  /// Whether there is anything to do.
  bool active() const { return active_.load(std::memory_order_relaxed); }
  /// There will be memory that matters.
  void wake() {
    if (options_.mode == AsyncMode::kOff || !options_.questions.complete()) return;
    active_.store(true, std::memory_order_relaxed);
  }
  /// Memory that matters: uses of it are noted from now on. Its end belongs to it.
  void follow(Address base, Size size) {
    if (!active() || !bounds_.holds(base) || !bounds_.holds(base + size)) [[unlikely]]
      follow_more(base, size);
  }
  /// Memory that the host reads and writes as kernels do.
  void reaches_host(Address base, Size size) {
    host_.widen(base, size);
    arguments_.changed();
  }
  const Bounds& host() const { return host_; }
  /// Addresses that a launch must not be given before something is mapped there.
  void reserved(Address base, Size size) {
    if (options_.mode != AsyncMode::kOff) bounds_.widen(base, size + 1);
  }
  /// Follows the memory of an object, until unwatch().
  void watch(std::uint64_t object, const Watched& memory, bool again = false);
  void unwatch(std::uint64_t object, std::uint64_t ended_by);
  WatchedMemory& watched() { return watched_; }
  /// Whether there is work that may be unfinished and used these addresses, whoever owned them.
  bool may_be_used(UsedRange memory);
  const Bounds& bounds() const { return bounds_; }
  const Questions& questions() const { return options_.questions; }
  KnownArguments& arguments() { return arguments_; }
  FollowedGraphs& graphs() { return graphs_; }
  const FollowedGraphs& graphs() const { return graphs_; }
  /// Whether work is followed, or may be later.
  bool follows() const { return options_.mode != AsyncMode::kOff && options_.questions.complete(); }
  /// Whether graphs are looked at when they are instantiated: also before there is anything else to
  /// do, for they may be the first that allocate.
  bool judges_graphs() const { return follows() && options_.questions.tells_graphs(); }
  GraphMemoryReader memory_reader() {
    return {options_.questions, arguments_.layouts(), arguments_.tensor_maps()};
  }
  NodeReader node_reader() { return node_reader(bounds_); }
  NodeReader node_reader(const Bounds& bounds) {
    return {options_.questions, arguments_.layouts(), arguments_.tensor_maps(), bounds, &host_};
  }

  /// A call that is about to act on a stream. Of an unknown or capturing stream nothing is noted.
  struct Ticket {
    StreamId stream = 0;
    bool alone = false;
    bool tells = false;
    std::uint64_t overlaps = 0;
    explicit operator bool() const { return stream != 0; }
  };
  static_assert(sizeof(Ticket) <= 16, "two registers hold it");
  /// `per_thread`: a handle of 0 is the thread's own default stream. Each ticket is given back to
  /// one of the functions behind it, and with it what was `reserved`, where there is a place for
  /// that.
  [[gnu::hot]] Ticket enter(CUstream handle, bool per_thread, ReservedEvent* reserved = nullptr);
  void cancel(const Ticket& ticket, const ReservedEvent& reserved = {});
  /// Work that uses nothing that matters was queued.
  [[gnu::hot]] void act(const Ticket& ticket, Launch launch = Launch::kNone,
                        const ReservedEvent& reserved = {});
  /// The same, and the work allocates memory of a pool.
  void allocate(const Ticket& ticket, const Watched& memory);
  /// The newest work of the stream, the launch of a graph, has allocated memory, which outlives it.
  void leave_behind(const Ticket& ticket, const Watched& memory);
  /// A node of another graph frees such memory, whose launches nobody follows: nothing is known of
  /// it from now on.
  void free_elsewhere(Address base);
  bool allocates() const { return allocates_.load(std::memory_order_relaxed); }
  /// Memory of a pool that nothing orders the next work of a stream behind.
  struct Early {
    Address address = 0;
    std::uint64_t allocated_on = 0;  ///< handle of the stream that allocates it; it is busy
    std::size_t place = 0;           ///< in the memory of the work
    bool of_graph = false;           ///< the launch of a graph allocates it
  };
  /// The first, from this place on, of what the next work of the ticket's stream is going to use
  /// too early.
  std::optional<Early> comes_early(const Ticket& ticket, const UsedMemory& memory,
                                   std::size_t first = 0);
  /// Handle of the ticket's stream.
  std::uint64_t stream_of(const Ticket& ticket);
  /// `use`: what of it is known before the stream is looked at. `surest`: of the memory. Its place
  /// on the stream; 0 unknown.
  [[gnu::hot]] Position use(const Ticket& ticket, const Use& use, const UsedMemory& memory,
                            Launch launch = Launch::kNone, Evidence surest = Evidence::kByType,
                            const ReservedEvent& reserved = {});
  Position use(const Ticket& ticket, const Use& use, const Uses::Shared& ranges);
  void record(const Ticket& ticket, CUevent event);
  void wait(const Ticket& ticket, CUevent event);
  /// The next work of the ticket's stream records it, once that work has begun.
  void record_ahead(const Ticket& ticket, CUevent event);
  /// All work of the context, or of all contexts where nobody says of which.
  void record_context(CUcontext context, CUevent event);
  void wait_in_context(CUcontext context, CUevent event);

  // What the host is going to wait for, and that it is over.
  Clock given(CUstream handle, bool per_thread);
  Clock recorded(CUevent event);
  /// Null: the current context.
  Clock given_to(CUcontext context);
  void over(const Clock& clock);
  // The same of calls that wait by the way (shim/queued_work/work_waits.cc). Nothing where no work
  // is noted.
  bool has_pending() const { return pending_.load(std::memory_order_relaxed); }
  Clock before_next(const Ticket& ticket);
  Clock everything();
  /// The host may have learned that it is over, or may learn it unseen.
  void tell(const Clock& clock);
  /// All kernels may have said so by words in memory, one of which the newest work of this stream
  /// looked at.
  void tell_beside(const Ticket& ticket);
  /// What is queued with this ticket may tell the host of itself and of what comes before it, and
  /// may do so before the call returns: until the end of a Telling.
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
  /// What the host knows behind work that was queued, at the place `own`. `before`: what the work
  /// came after; null where it was not asked for.
  void settle(const Ticket& ticket, HostWait wait, const Clock* before, Position own);
  /// The newest work of the ticket's stream waits for a word or a semaphore.
  void hear(const Ticket& ticket);
  /// Another process may see when the event is over, or record it.
  void share(CUevent event);
  /// Whether memory of a pool that begins there is watched, and work is noted.
  bool watches_pool(std::uint64_t address) { return has_pending() && watched_.holds_pool(address); }

  /// Captures may be under way from now on.
  void begin_capture() { captures_.store(true, std::memory_order_relaxed); }
  bool captures() const { return captures_.load(std::memory_order_relaxed); }
  /// Whether what is given to the stream becomes part of a graph. Asks the driver.
  bool captured(CUstream handle, bool per_thread) const {
    return captures() && active() && capturing(key_of(handle, per_thread));
  }
  /// Before the driver hears of it. They wait for threads that ask about a stream.
  void destroy_stream(CUstream handle);
  void end_context();
  void forget(CUevent event);

  /// Launches of one executable graph come one after the other, also on several streams (cuda.h,
  /// cuGraphLaunch): the next work of the stream comes behind the last launch.
  void follow_launch(const Ticket& ticket, CUgraphExec exec);
  /// The newest work of the stream is the graph's last launch from now on.
  void note_launch(const Ticket& ticket, CUgraphExec exec);
  void forget_graph(CUgraphExec exec);

  /// What work is asked for.
  struct Taken {
    UsedRange memory;
    std::uint64_t since = 0;             ///< work of earlier calls is left out
    const Ticket* ordered_by = nullptr;  ///< and work that comes before the next work there
    MemoryBefore before = {};
    std::uint64_t end_since = AskedMemory::kNever;
  };
  /// Which queued work uses the memory and may be unfinished; the worst first. Asks the driver.
  void find(const Taken& taken, RareList<FoundWork>& found);

  WorkCounts counts() const;

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
    bool is_end = false, may_be_end = false;  ///< as FoundWork has them
    CUresult event_answer = CUDA_ERROR_UNKNOWN;
  };
  /// A stream that the driver is asked about.
  struct Asked {
    StreamId stream = 0;
    StreamKey key;
    std::uint64_t context = 0;
    Clock reached;
    std::uint64_t actions = 0;
    bool quiet = false;  ///< nobody was inside of a call on it
    bool destroyed = false;
    std::uint64_t last_event = 0;  ///< of one that was destroyed
    CUresult answer = CUDA_ERROR_UNKNOWN;
  };

  [[gnu::cold]] void follow_more(Address base, Size size);
  [[gnu::hot]] StreamKey key_of(CUstream handle, bool per_thread) const;
  [[gnu::hot]] std::uint64_t current_context() const;
  bool capturing(const StreamKey& key) const;
  LearnedStream learn(const StreamKey& key) const;
  [[gnu::always_inline]] inline Ticket let_in(Stream& stream, ReservedEvent* reserved)
      CUVMM_NEEDS(mutex_);
  /// The same for a stream that was not seen before.
  [[gnu::cold, gnu::noinline]] Ticket meet(const StreamKey& key, ReservedEvent* reserved);
  [[gnu::hot]] void count(Launch launch) CUVMM_NEEDS(mutex_);
  [[gnu::hot]] Stream* leave(const Ticket& ticket) CUVMM_NEEDS(mutex_);
  /// The place of the next work on the stream, and whether it is sure; nothing at 0.
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
  bool told(StreamId stream, Position work) CUVMM_NEEDS(mutex_);
  OwnEvent record_own(const Ticket& ticket);
  [[gnu::hot]] OwnEvent record_own(const Ticket& ticket, const ReservedEvent& reserved);
  void give_back(const OwnEvent& own) CUVMM_NEEDS(mutex_) {
    if (own.event != 0) [[unlikely]]
      events_.give_back(own);
  }

  struct Birth;
  /// How the memory at `address` is allocated; null unless comes_early() has to ask for it.
  const Birth* unawaited_birth(const Ticket& ticket, Address address) CUVMM_NEEDS(mutex_);
  void note_birth(const Birth& birth, Address base) CUVMM_NEEDS(mutex_);
  /// A stream cannot end between these two.
  Asked begin_to_ask(StreamId id) CUVMM_NEEDS(mutex_);
  void end_to_ask(const Asked& asked) CUVMM_NEEDS(mutex_);
  /// False for one that must not be asked.
  bool ask(Asked& asked) const;
  bool collect(const Taken& taken, std::vector<Candidate>& uses, std::vector<Asked>& streams);
  bool ends_unseen(const Taken& taken, const Use& use) const;
  void ask(std::vector<Candidate>& uses, std::vector<Asked>& streams) const;
  CUresult ask_stream(const Asked& stream) const;
  void judge(const std::vector<Candidate>& uses, const std::vector<Asked>& streams,
             RareList<FoundWork>& found);
  /// `over`: what the idle ones of the asked streams had, and what that came after.
  void judge_one(const Candidate& candidate, const Asked& asked, const Clock& over,
                 RareList<FoundWork>& found) CUVMM_NEEDS(mutex_);
  bool certain(const Candidate& candidate, const Asked& asked) CUVMM_NEEDS(mutex_);
  bool told_beside(const Candidate& candidate) CUVMM_NEEDS(mutex_);
  const Work* work_of(const Use& use, const StreamKey& key) CUVMM_NEEDS(mutex_);

  // What is read in each call lies together.
  std::atomic<bool> active_{false};
  std::atomic<bool> captures_{false};
  std::atomic<bool> pending_{false};  ///< there may be uses
  Bounds bounds_;
  Bounds host_;
  const WorkOptions options_;
  KnownArguments arguments_;
  FollowedGraphs graphs_;
  WatchedMemory watched_;

  alignas(64) OwnedMutex mutex_;
  // Written under the lock, and read without it.
  std::atomic<std::uint64_t> launches_{0}, hidden_{0}, dropped_{0};
  std::atomic<std::uint64_t> tracked_[3] = {};  ///< by Evidence
  OrderState order_ CUVMM_GUARDED_BY(mutex_);
  Uses uses_ CUVMM_GUARDED_BY(mutex_);
  StreamTable streams_ CUVMM_GUARDED_BY(mutex_);
  unsigned ending_ CUVMM_GUARDED_BY(mutex_) = 0;  ///< threads that are about to end a context
  static constexpr std::size_t kMostDestroyed = 64;
  std::vector<StreamId> destroyed_ CUVMM_GUARDED_BY(mutex_);  ///< whose work may be unfinished
  unsigned telling_ CUVMM_GUARDED_BY(mutex_) = 0;             ///< threads, of all streams
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
  std::atomic<bool> allocates_{false};  ///< there may be births
  /// Findings name them for ever.
  std::map<std::tuple<const void*, const void*, std::uint64_t>, Work> named_
      CUVMM_GUARDED_BY(mutex_);
  std::unordered_set<std::uint64_t> shared_events_ CUVMM_GUARDED_BY(mutex_);
  std::atomic<std::uint64_t> lucky_{0};  ///< written under the lock
  std::atomic<std::uint64_t> hints_{0};  ///< likewise
};

}  // namespace cuvmm::shim
