// SPDX-License-Identifier: Apache-2.0
// Finds the work that still needs memory which a call takes away: the noted uses that the host has
// not waited for, and the driver's answers about their streams.
#include <algorithm>
#include <string_view>

#include "api/posix/cancel_off.h"
#include "shim/base/in_flight.h"
#include "shim/queued_work/queued_work.h"
#include "shim/stack/stacks.h"

namespace cuvmm::shim {

namespace {

// The number of uses of one stream; the newest are taken. Further uses of a stream would add
// nothing to a finding.
constexpr std::size_t kMostOfAStream = 8;

// Copies and fills without a stream use the default stream, and most of them return when they are
// done.
bool may_have_waited(const Use& use, const StreamKey& stream) {
  const std::string_view what = use.what;
  return stream.is_default() && (what == "copy" || what == "fill");
}

}  // namespace

void QueuedWork::find(const Taken& taken, RareList<FoundWork>& found) {
  if (!pending_.load(std::memory_order_relaxed)) return;
  const CancelOff no_cancel;
  std::vector<Candidate> uses;
  std::vector<Asked> streams;
  if (!collect(taken, uses, streams)) return;
  ask(uses, streams);
  judge(taken, uses, streams, found);
  std::stable_sort(found.begin(), found.end(), [](const FoundWork& a, const FoundWork& b) {
    return a.state != b.state ? a.state < b.state : a.queued.call > b.queued.call;
  });
}

bool QueuedWork::may_be_used(UsedRange memory) {
  if (!pending_.load(std::memory_order_relaxed)) return false;
  bool used = false;
  const Locked lock(mutex_);
  uses_.find({.base = memory.base, .size = memory.size, .end_since = 0},
             [&](StreamId, const Use&, const UsedRange&) { used = true; });
  return used;
}

bool QueuedWork::collect(const Taken& taken, std::vector<Candidate>& uses,
                         std::vector<Asked>& streams) {
  const Locked lock(mutex_);
  if (uses_.empty()) {
    if (births_.empty()) pending_.store(false, std::memory_order_relaxed);
    return false;
  }
  // A wait for a word in memory, or for a semaphore, may bring any work before the call.
  if (taken.ordered_by && order_.hears(taken.ordered_by->stream)) return false;
  std::size_t of_this = 0;
  const AskedMemory memory{taken.memory.base, taken.memory.size, taken.before, taken.end_since};
  uses_.find(memory, [&](StreamId id, const Use& use, const UsedRange& range) CUVMM_UNCHECKED {
    if (use.origin.call < taken.since || order_.finished(id, use.position)) return;
    const Ticket* const next = taken.ordered_by;
    if (next && order_.comes_before(id, use.position, next->stream)) return;
    const bool may_be_end = memory.may_be_end(range);
    if (may_be_end && ends_unseen(taken, use)) return;
    if (range.evidence == Evidence::kWord) {
      hints_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    // uses_ visits one stream after the other, the oldest use of each first.
    of_this = !uses.empty() && uses.back().stream == id ? of_this + 1 : 1;
    if (of_this > kMostOfAStream) uses.erase(uses.end() - kMostOfAStream);
    uses.push_back({id, use, range, memory.is_end(range), may_be_end});
    // A kernel with a tensor map may leave parts of the tensor unused, except for its beginning.
    const bool tensor = range.size != 0 && std::string_view(use.what) == "kernel";
    if (tensor && range.base < taken.memory.base) uses.back().use.sure = false;
    if (may_be_end && taken.before.ends) uses.back().use.sure = false;
  });
  for (const Candidate& each : uses) {
    if (!streams.empty() && streams.back().stream == each.stream) continue;
    streams.push_back(begin_to_ask(each.stream));
  }
  return !streams.empty();
}

// Whether the kernel may have got an argument into the memory before, which ends here, and cuvmm
// did not note that argument.
bool QueuedWork::ends_unseen(const Taken& taken, const Use& use) const {
  if (!taken.before.ends) return false;
  return use.given_structs || (use.given_outside && !bounds_.holds(taken.before.from));
}

QueuedWork::Asked QueuedWork::begin_to_ask(StreamId id) {
  Asked asked;
  asked.stream = id;
  Stream* const stream = streams_.at(id);
  asked.destroyed = !stream;
  if (!stream) return asked;
  asked.key = stream->key;
  asked.context = stream->learned.context;
  asked.reached = order_.own(stream->id);
  asked.actions = stream->actions;
  asked.quiet = stream->inside == 0;
  // A stream that is about to end has lost its key, or its context is about to end.
  asked.destroyed = stream->destroyed || streams_.find(stream->key) != stream || ending_ != 0;
  asked.last_event = stream->destroyed && ending_ == 0 ? stream->last_event.event : 0;
  if (!asked.destroyed || asked.last_event != 0) ++stream->asking;
  return asked;
}

void QueuedWork::end_to_ask(const Asked& asked) {
  Stream* const stream = streams_.at(asked.stream);
  if ((!asked.destroyed || asked.last_event != 0) && stream) --stream->asking;
  if (asked.answer != CUDA_SUCCESS) return;
  order_.over(asked.reached);
  for (const Clock::Reached& each : asked.reached) drop_finished(each.stream);
}

// Never asks about a stream that captures, because the question would end the capture.
bool QueuedWork::ask(Asked& asked) const {
  if (asked.destroyed && asked.last_event == 0) return false;
  if (!asked.destroyed && captures() && capturing(asked.key)) return false;
  const RelaxedCapture relaxed(options_.questions, captures());
  asked.answer =
      asked.destroyed ? query_event(options_.questions, asked.last_event) : ask_stream(asked);
  return true;
}

void QueuedWork::ask(std::vector<Candidate>& uses, std::vector<Asked>& streams) const {
  for (Asked& asked : streams) {
    if (!ask(asked)) continue;
    for (Candidate& each : uses) {
      if (each.stream != asked.stream || each.use.event == 0) continue;
      each.event_answer = query_event(options_.questions, each.use.event);
    }
  }
}

CUresult QueuedWork::ask_stream(const Asked& asked) const {
  if (asked.key.is_default()) {
    // A default stream's handle means the stream of the current context, and of the calling thread.
    if (current_context() != asked.context) return CUDA_ERROR_UNKNOWN;
    if (asked.key.handle == StreamKey::kPerThread && asked.key.thread != t_state.thread) {
      return CUDA_ERROR_UNKNOWN;
    }
  }
  return options_.questions.stream_query(reinterpret_cast<CUstream>(asked.key.handle));
}

void QueuedWork::judge(const Taken& taken, const std::vector<Candidate>& uses,
                       const std::vector<Asked>& streams, RareList<FoundWork>& found) {
  const Locked lock(mutex_);
  Clock over;
  for (const Asked& asked : streams) {
    if (asked.answer == CUDA_SUCCESS) over.join(asked.reached);
  }
  for (const Asked& asked : streams) {
    for (const Candidate& each : uses) {
      if (each.stream == asked.stream) judge_one(taken, each, asked, over, found);
    }
  }
  // After all streams are judged, because work that one stream waited for may be a use on another.
  for (const Asked& asked : streams) end_to_ask(asked);
}

void QueuedWork::note_unawaited(UnawaitedUse& first, const Taken& taken, const Candidate& candidate,
                                const Asked& asked) {
  const InFlight* const taker = in_flight();
  if (first.taker || !taker || !taker->call) return;
  first.taker = name(taker->box(taker->call).entry_point());
  first.taken = taker->origin ? *taker->origin : Origin{};
  first.taken.stack = capture_stack(taker->caller);
  first.on_stream = taken.ordered_by != nullptr;
  first.work = work_of(candidate.use, asked.key);
  first.queued = candidate.use.origin;
  first.base = candidate.range.base;
  first.size = candidate.range.size;
}

void QueuedWork::judge_one(const Taken& taken, const Candidate& candidate, const Asked& asked,
                           const Clock& over, RareList<FoundWork>& found) {
  // Another thread may have waited for the work meanwhile; then the work's event may stand for
  // other work by now.
  if (order_.finished(candidate.stream, candidate.use.position)) return;
  if (!uses_.at(candidate.stream, candidate.use.position)) return;
  FoundWork one;
  const bool reported = this->reported(candidate.stream, candidate.use.position);
  const bool by_event = candidate.use.event != 0;
  CUresult answer = by_event ? candidate.event_answer : asked.answer;
  // The stream may be busy with other work: if later work is over, this work is over.
  if (!by_event && over.at(candidate.stream) >= candidate.use.position) answer = CUDA_SUCCESS;
  if (answer == CUDA_ERROR_NOT_READY) {
    one.state =
        certain(candidate, asked) ? FoundWork::State::kInFlight : FoundWork::State::kMayBeInFlight;
    // A host that may know that the work is over has not forgotten to wait.
    if (reported && (one.state != FoundWork::State::kInFlight || reported_during_run(candidate)))
      return;
  } else if (answer == CUDA_SUCCESS || asked.destroyed) {
    if (answer == CUDA_SUCCESS) {
      Clock through;
      through.raise(candidate.stream, candidate.use.position);
      order_.over(through);
    }
    if (reported) {
      if (answer == CUDA_SUCCESS && candidate.use.host_may_look) {
        perhaps_unawaited_.fetch_add(1, std::memory_order_relaxed);
        note_unawaited(perhaps_, taken, candidate, asked);
      }
      return;
    }
    if (!options_.unordered) {
      if (!may_have_waited(candidate.use, asked.key)) {
        unawaited_.fetch_add(1, std::memory_order_relaxed);
        note_unawaited(first_unawaited_, taken, candidate, asked);
      }
      return;
    }
    one.state = FoundWork::State::kUnordered;
  } else {
    return;  // the answer is an error of earlier work, or no call may ask about the stream
  }
  one.work = work_of(candidate.use, asked.key);
  one.queued = candidate.use.origin;
  one.base = candidate.range.base;
  one.size = candidate.range.size;
  one.evidence = candidate.range.evidence;
  one.is_end = candidate.is_end;
  one.may_be_end = candidate.may_be_end;
  found.push_back(one);
}

bool QueuedWork::certain(const Candidate& candidate, const Asked& asked) {
  if (!candidate.use.sure || candidate.range.evidence != Evidence::kByType) return false;
  if (candidate.use.event != 0) return true;
  const Stream* const stream = streams_.at(candidate.stream);
  const bool last = stream && asked.quiet && stream->inside == 0 &&
                    stream->actions == asked.actions && candidate.use.action == asked.actions;
  if (!last) return false;
  if (asked.key.handle != StreamKey::kLegacy) return true;
  // The legacy stream may be busy because of the streams that it waits for.
  for (const auto& [id, other] : streams_) {
    const bool may_count = id != candidate.stream && other.learned.context == asked.context &&
                           other.learned.kind == OrderState::Kind::kBlocking;
    if (may_count && other.inside != 0) return false;
  }
  return order_.busy_for_itself(candidate.stream);
}

// A host that copied the word which a kernel wrote may know that the kernel is done with its
// memory, though the kernel goes on. A copy or a fill writes no such word about itself.
bool QueuedWork::reported_during_run(const Candidate& candidate) {
  const std::string_view what = candidate.use.what;
  return (what == "kernel" || what == "graph") &&
         order_.reported_during_run(candidate.stream, candidate.use.position);
}

const Work* QueuedWork::work_of(const Use& use, const StreamKey& key) {
  Work& work = named_[{use.what, use.function, key.handle}];
  work.what = use.what;
  if (use.function) work.function = *use.function;
  work.stream = key.handle;
  return &work;
}

}  // namespace cuvmm::shim
