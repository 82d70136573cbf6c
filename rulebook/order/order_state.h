// SPDX-License-Identifier: Apache-2.0
// What comes after what: the work that is queued to streams, and what orders it.
//
// Each piece of work has a number on its stream. For each stream and each event a clock says which
// work of other streams is over before its own next work starts; one more clock says which work the
// host knows to be over. No I/O, no locks, no time: whether unfinished work runs at this moment,
// only the driver knows.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>

#include "rulebook/order/clock.h"
#include "rulebook/order/stream_map.h"

namespace cuvmm {

class OrderState {
 public:
  /// Any number that tells contexts, or events, from each other.
  using ContextId = std::uint64_t;
  using EventId = std::uint64_t;

  enum class Kind : std::uint8_t {
    kLegacy,       ///< the default stream that waits for the blocking ones, and they for it
    kBlocking,     ///< made without a flag, or the default stream of one thread
    kNonBlocking,  ///< CU_STREAM_NON_BLOCKING
  };

  /// A stream that the program can queue to from now on. At most one of a context is kLegacy.
  StreamId open(ContextId context, Kind kind);
  /// It was destroyed. The driver finishes what is queued there, and nobody can ask for it.
  void close(StreamId stream);
  /// A context was destroyed: all its work is over.
  void close_context(ContextId context);

  /// One more piece of work; its number.
  [[gnu::hot]] Position queue(StreamId stream);
  /// cuEventRecord: the event stands for all that the stream has been given so far, and for what
  /// work would wait for there. A blocking stream itself comes after no more than before.
  void record(EventId event, StreamId stream);
  /// cuStreamWaitEvent: a blocking stream waits for the event alone, and for the legacy stream only
  /// before its next work. An event that was never recorded waits for nothing.
  void wait(StreamId stream, EventId event);
  /// cuCtxRecordEvent: the event stands for all that this clock says.
  void record(EventId event, Clock clock) { events_[event] = std::move(clock); }
  /// cuCtxWaitEvent: so do all streams of the context, those too that it is going to have. Nothing:
  /// of all contexts.
  void wait_in(std::optional<ContextId> context, EventId event);
  void forget(EventId event) { events_.erase(event); }

  /// The host knows that all is over that the stream was given so far: a synchronisation, or a
  /// query that said so.
  void stream_finished(StreamId stream);
  void event_finished(EventId event);
  void context_finished(ContextId context);

  // The same in two steps, for who waits while others queue: what there is to wait for, and then
  // that it is over.
  Clock given(StreamId stream) const;
  /// The same but for the default stream's rules: what is over when the stream itself has nothing
  /// left to do.
  Clock own(StreamId stream) const;
  Clock recorded(EventId event) const;
  Clock given_to(ContextId context) const;
  /// What is over before the work starts that the stream is given next.
  Clock before_next(StreamId stream) const;
  Clock everything() const;
  void over(const Clock& clock) { finish(Clock(clock)); }

  /// The host may have learned that this is over, or may learn it in a way that nobody sees: so
  /// nobody can say that nothing has waited for it.
  void tell(const Clock& clock) { told_.join(clock); }
  bool told(StreamId stream, Position work) const { return told_.at(stream) >= work; }
  /// The same of all kernels, by words that they write while they run; but for what comes before
  /// the newest work of `by` (0: for nothing), which looked at such a word.
  void tell_beside(StreamId by);
  /// Whether a kernel may have said so while it runs.
  bool told_beside(StreamId stream, Position work) const {
    return work > before_told_.at(stream) && work <= told_beside_.at(stream);
  }

  /// The stream waits for a word in memory, or a semaphore, from its newest work on: whatever was
  /// queued anywhere may be what it waits for. So nobody can say what comes before its next work;
  /// and once this wait is over, the host may have learned that anything is.
  void hear(StreamId stream);
  /// Whether what is queued to `later` now comes after such a wait that may still go on.
  bool hears(StreamId later) const;

  /// Whether the host knows that this work is over.
  bool finished(StreamId stream, Position work) const { return finished_until(stream) >= work; }
  /// The newest work of the stream that the host knows to be over, and with it all before it. Of a
  /// stream that is gone, all is.
  Position finished_until(StreamId stream) const;
  /// Whether this work is over before work starts that is queued to `later` now. It may be the same
  /// stream.
  bool comes_before(StreamId stream, Position work, StreamId later) const;
  /// Whether the host knows that all is over that the stream was given.
  bool idle(StreamId stream) const;
  /// Whether all is over, as far as the host knows, that the stream was given or waits for, but for
  /// work of `other`.
  bool hangs_on(StreamId stream, StreamId other) const;
  /// Whether this is so of all blocking streams beside a legacy one, those that were destroyed too:
  /// then it is busy with nothing but its own work.
  bool busy_for_itself(StreamId legacy) const;
  /// Whether nothing was queued to its stream behind this work, so that a busy stream is busy with
  /// it, or with what it waits for.
  bool is_last(StreamId stream, Position work) const;

 private:
  struct Context {
    StreamId legacy = 0;        ///< 0: none
    Clock after;                ///< what streams come after that are opened now
    std::uint64_t changes = 0;  ///< of the versions of its blocking streams
  };
  struct Stream {
    ContextId context = 0;
    Context* home = nullptr;  ///< of this context; lives as long as its streams
    Kind kind = Kind::kBlocking;
    bool closed = false;
    Position last = 0;  ///< number of the newest work
    Clock after;        ///< the work of others that is over before the next one starts
    /// Changes with `last` and `after`, so that who has followed it once need not look again.
    std::uint64_t version = 1;
    std::uint64_t seen_legacy = 0;     ///< the version of the legacy stream that `after` has
    std::uint64_t seen_by_legacy = 0;  ///< the version of this one that the legacy stream has
    std::uint64_t seen_changes = 0;    ///< of a legacy stream: it has all versions up to here
  };

  // The default stream's rules: visit(id, other) for the streams that an action on this one waits
  // for. `self` is this state, const or not.
  template <class Self, class Visit>
  [[gnu::hot]] static void awaited(Self& self, const Stream& stream, Visit visit);
  // What is known of the stream is something else from here on.
  static void change(Stream& stream) {
    ++stream.version;
    if (stream.kind == Kind::kBlocking) ++stream.home->changes;
  }
  // An action on the stream: it waits for them.
  [[gnu::hot]] void arrive(Stream& stream);
  // All that `from` has and that may still run, its own work too.
  void follow(Stream& stream, StreamId other, const Stream& from);
  void join(Clock& into, const Clock& from) const;
  void finish(const Clock& over);
  // Waits for words and semaphores that are over, and what was told by words that is.
  void hear_out();
  // What is said of streams that are gone.
  void forget_gone();

  StreamMap<Stream> streams_;
  std::unordered_map<ContextId, Context> contexts_;
  std::unordered_map<EventId, Clock> events_;
  Clock finished_, told_;  ///< of streams in `streams_`
  Clock hearing_;          ///< the newest waits for words and semaphores that may go on
  /// Of each stream that the second names, the work behind that place and up to this one.
  Clock before_told_, told_beside_;
  StreamId newest_ = 0;
};

}  // namespace cuvmm
