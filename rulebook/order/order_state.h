// SPDX-License-Identifier: Apache-2.0
// The order of the work that is queued to streams.
//
// Each piece of work has a number on its stream. For each stream and each event, a clock names the
// work of other streams that is over before the next work of the stream starts. One more clock
// names the work that the host knows to be over. No I/O, no locks, no time: only the driver knows
// whether unfinished work runs at this moment.
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
  /// A number that tells one context, or event, from all others.
  using ContextId = std::uint64_t;
  using EventId = std::uint64_t;

  enum class Kind : std::uint8_t {
    kLegacy,       ///< the default stream that waits for the blocking streams, and they wait for it
    kBlocking,     ///< made without a flag, or the default stream of one thread
    kNonBlocking,  ///< CU_STREAM_NON_BLOCKING
  };

  /// A stream that the program can queue to from now on. At most one of a context is kLegacy.
  StreamId open(ContextId context, Kind kind);
  /// The program destroyed the stream. The driver finishes the work that is queued there, and the
  /// program can no longer ask for it.
  void close(StreamId stream);
  /// The program destroyed the context: all its work is over.
  void close_context(ContextId context);

  /// Queues a piece of work. Returns its number on the stream.
  [[gnu::hot]] Position queue(StreamId stream);
  /// cuEventRecord: the event stands for all work that the stream has so far, and for all work that
  /// new work there would wait for. On a blocking stream, record() does not change what the
  /// stream's own next work waits for.
  void record(EventId event, StreamId stream);
  /// cuStreamWaitEvent: the stream's next work waits for the event. A blocking stream waits for the
  /// legacy stream only when its next work is queued. An event that was never recorded waits for
  /// nothing.
  void wait(StreamId stream, EventId event);
  /// cuCtxRecordEvent: the event stands for all work that `clock` names.
  void record(EventId event, Clock clock) { events_[event] = std::move(clock); }
  /// cuCtxWaitEvent: all streams of the context wait for the event, and so do the streams that the
  /// program opens there later. Without a context, the streams of all contexts wait.
  void wait_in(std::optional<ContextId> context, EventId event);
  void forget(EventId event) { events_.erase(event); }

  // The functions below give the work that a wait or a query is about. The caller passes that work
  // to over() once the driver says that it is over. These are two steps, because other threads may
  // queue work while the caller waits.
  Clock given(StreamId stream) const;
  /// The same without the default stream's rules: the work that is over when the stream itself has
  /// nothing left to do.
  Clock own(StreamId stream) const;
  Clock recorded(EventId event) const;
  Clock given_to(ContextId context) const;
  /// The work that is over before the stream's next work starts.
  Clock before_next(StreamId stream) const;
  Clock everything() const;
  void over(const Clock& clock) { finish(Clock(clock)); }

  /// The host may have learned that the work of `clock` is over, or may learn it in a way that
  /// cuvmm cannot see. From then on cuvmm cannot say that the host never waited for this work.
  void tell(const Clock& clock) { reported_.join(clock); }
  bool reported(StreamId stream, Position work) const { return reported_.at(stream) >= work; }
  /// The same for all work, because the host may learn from words that kernels write while they
  /// run. reported_during_run() leaves out the work that comes before the newest work of the stream
  /// `by`, because `by` has looked at such a word; `by` 0 leaves out nothing.
  void tell_beside(StreamId by);
  /// Whether a kernel may have told the host about this work while the kernel ran.
  bool reported_during_run(StreamId stream, Position work) const {
    return work > before_reported_.at(stream) && work <= reported_during_run_.at(stream);
  }

  /// The stream waits for a word in memory, or for a semaphore, behind its newest work. Any queued
  /// work may be the work that ends this wait. So nobody can say which work comes before the
  /// stream's next work. Once the wait is over, the host may have learned that any work is over.
  void hear(StreamId stream);
  /// Whether work that is queued to `later` now comes after such a wait that may not be over yet.
  bool hears(StreamId later) const;

  /// Whether the host knows that this work is over.
  bool finished(StreamId stream, Position work) const { return finished_until(stream) >= work; }
  /// The number of the newest work of the stream that the host knows to be over; all work before it
  /// is over, too. For a stream that the model has forgotten: the greatest number, because all its
  /// work is over.
  Position finished_until(StreamId stream) const;
  /// Whether this work is over before work starts that is queued to `later` now. `later` may be the
  /// work's own stream.
  bool comes_before(StreamId stream, Position work, StreamId later) const;
  /// Whether the host knows that all work of the stream is over.
  bool idle(StreamId stream) const;
  /// Whether the host knows that all work of the stream is over, and all work that the stream waits
  /// for except the work of `other`.
  bool hangs_on(StreamId stream, StreamId other) const;
  /// Whether hangs_on(stream, legacy) holds for all blocking streams of the legacy stream's
  /// context, also for destroyed ones. Then the legacy stream is busy with its own work only.
  bool busy_for_itself(StreamId legacy) const;

 private:
  struct Context {
    StreamId legacy = 0;        ///< 0: none
    Clock after;                ///< the work that streams opened from now on wait for
    std::uint64_t changes = 0;  ///< counts the changes of its blocking streams
  };
  struct Stream {
    ContextId context = 0;
    Context* home = nullptr;  ///< of this context; lives as long as its streams
    Kind kind = Kind::kBlocking;
    bool closed = false;
    Position last = 0;  ///< number of the newest work
    Clock after;        ///< the work of others that is over before the next one starts
    /// Changes with `last` and `after`. A stream that has followed this version need not look
    /// again.
    std::uint64_t version = 1;
    std::uint64_t seen_legacy = 0;     ///< the version of the legacy stream that `after` includes
    std::uint64_t seen_by_legacy = 0;  ///< this stream's version that the legacy stream includes
    std::uint64_t seen_changes = 0;    ///< for a legacy stream: Context::changes as it last saw it
  };

  // The default stream's rules: calls visit(id, other) for each stream that an action on `stream`
  // waits for. `self` is this state, const or not.
  template <class Self, class Visit>
  [[gnu::hot]] static void awaited(Self& self, const Stream& stream, Visit visit);
  // Notes that `last` or `after` of the stream changed.
  static void change(Stream& stream) {
    ++stream.version;
    if (stream.kind == Kind::kBlocking) ++stream.home->changes;
  }
  // Notes that an action on the stream waits for all streams that awaited() names.
  [[gnu::hot]] void arrive(Stream& stream);
  // Adds to `stream` the work of `from` that may still run, and all unfinished work that `from`
  // waits for.
  void follow(Stream& stream, StreamId other, const Stream& from);
  void join(Clock& into, const Clock& from) const;
  void finish(const Clock& over);
  // Removes the waits for words and semaphores that are over, and the work of reported_during_run_
  // that is over.
  void hear_out();
  // Removes from the clocks the streams that are no longer in streams_.
  void forget_ended();

  StreamMap<Stream> streams_;
  std::unordered_map<ContextId, Context> contexts_;
  std::unordered_map<EventId, Clock> events_;
  Clock finished_, reported_;  ///< of streams in `streams_`
  Clock open_waits_;           ///< the newest waits for words and semaphores that may go on
  /// For each stream in reported_during_run_: reported_during_run() is true of the work behind the
  /// number in before_reported_ up to the number in reported_during_run_.
  Clock before_reported_, reported_during_run_;
  StreamId newest_ = 0;
};

}  // namespace cuvmm
