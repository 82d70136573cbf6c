// SPDX-License-Identifier: Apache-2.0
#include "emulator/core/work.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "emulator/base/say.h"
#include "emulator/core/emulator.h"

namespace cuvmm::emulator {

namespace {

// Runs the work on the calling thread until it is ready. `gives_up()` says whether to leave waiting
// work to the queue.
template <class Predicate>
CUresult run_now(Emulator& e, const Work& work, Predicate gives_up) {
  CUresult result = work(e);
  if (result != CUDA_ERROR_NOT_READY || Queues::inside()) return result;
  // Another thread of this process may be about to end the wait: it needs the lock.
  const auto end = std::chrono::steady_clock::now() + Queues::kLongestWait;
  while (result == CUDA_ERROR_NOT_READY && !gives_up()) {
    if (std::chrono::steady_clock::now() >= end) return CUDA_ERROR_TIMEOUT;
    e.mutex.unlock();
    std::this_thread::sleep_for(Queues::kBetweenLooks);
    e.mutex.lock();
    result = work(e);
  }
  return result;
}

CUresult run_now(Emulator& e, const Work& work) {
  return run_now(e, work, [] { return false; });
}

CUresult queue(Emulator& e, CUstream stream, Work&& work, bool wait, WorkId* last = nullptr) {
  const auto lane = lane_of(e, stream);
  if (!lane) return Streams::is_default(stream) ? e.no_context() : CUDA_ERROR_INVALID_HANDLE;
  if (lane->context->fault != CUDA_SUCCESS) return lane->context->fault;
  const WorkId id = e.queues.add(*lane, std::move(work), last ? *last : 0);
  if (last) *last = id;
  if (!wait) return CUDA_SUCCESS;
  const CUresult result = e.queues.finish(e, {id});
  if (result != CUDA_SUCCESS) e.queues.cancel(id);  // the work may point to variables of the caller
  return result == CUDA_SUCCESS ? lane->context->fault : result;
}

}  // namespace

// Defined here, not in queues.cc, because it releases the emulator's lock and so needs the class
// Emulator.
CUresult Queues::finish(Emulator& e, const std::vector<WorkId>& wanted) {
  const auto all_done = [&] {
    return std::all_of(wanted.begin(), wanted.end(), [this](WorkId id) { return done(id); });
  };
  auto since = std::chrono::steady_clock::now();
  while (!all_done()) {
    // Where no wanted work can run, it may wait for other work or for another thread.
    if (pass(e, wanted) || run_any(e)) {
      since = std::chrono::steady_clock::now();
      continue;
    }
    if (running_ != 0 || HostCall::any_away()) since = std::chrono::steady_clock::now();
    if (std::chrono::steady_clock::now() - since >= kLongestWait) {
      note(
          "streams: nothing ended a stream's wait for a value or a semaphore in ten seconds; the "
          "call that waits for the stream answers CUDA_ERROR_TIMEOUT");
      return CUDA_ERROR_TIMEOUT;
    }
    e.mutex.unlock();
    std::this_thread::sleep_for(kBetweenLooks);
    e.mutex.lock();
  }
  return CUDA_SUCCESS;
}

bool& per_thread_default() {
  static constinit thread_local bool is = false;
  return is;
}

std::size_t*& resumed_operation() {
  static constinit thread_local std::size_t* at = nullptr;
  return at;
}

std::optional<Lane> lane_of(Emulator& e, CUstream stream) {
  using Kind = Lane::Kind;
  if (!stream) stream = per_thread_default() ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
  if (Streams::is_default(stream)) {
    Context* const context = e.current_context();
    if (!context) return std::nullopt;
    if (stream == CU_STREAM_LEGACY) return Lane{context, nullptr, Kind::kLegacy};
    return Lane{context, Captures::key(stream), Kind::kBlocking};
  }
  const Stream* const found = e.streams.find(stream);
  if (!found) return std::nullopt;
  const bool apart = (found->flags & CU_STREAM_NON_BLOCKING) != 0;
  return Lane{found->context, stream, apart ? Kind::kNonBlocking : Kind::kBlocking};
}

CUresult submit(Emulator& e, CUstream stream, Work work, WorkId* last) {
  if (!Queues::late() || Queues::inside()) return run_now(e, work);
  return queue(e, stream, std::move(work), false, last);
}

CUresult submit_and_wait(Emulator& e, CUstream stream, Work work) {
  if (!Queues::late() || Queues::inside()) return run_now(e, work);
  return queue(e, stream, std::move(work), true);
}

CUresult wait_for(Emulator& e, const Lane& lane) {
  if (!Queues::late()) return CUDA_SUCCESS;
  const Queues::Held held = e.queues.held(lane);
  CUresult result = e.queues.finish(e, e.queues.pending(lane));
  // The legacy work that the event's record was held for may be done by now.
  if (result == CUDA_SUCCESS && e.queues.done(held.by)) {
    result = e.queues.finish(e, {held.record});
  }
  return result == CUDA_SUCCESS ? lane.context->fault : result;
}

CUresult wait_for(Emulator& e, const Context& context) {
  if (!Queues::late()) return CUDA_SUCCESS;
  const CUresult result = e.queues.finish(e, e.queues.pending(context));
  return result == CUDA_SUCCESS ? context.fault : result;
}

CUresult submit_calls(Emulator& e, CUstream stream, Work work, WorkId* last) {
  if (Queues::late() && !Queues::inside()) return queue(e, stream, std::move(work), false, last);
  const CUresult result = run_now(e, work, [] { return HostCall::any_away(); });
  if (result != CUDA_ERROR_NOT_READY || Queues::inside()) return result;
  // The lock was free meanwhile: the objects that `last` points to may have ended.
  const CUresult queued = queue(e, stream, std::move(work), false);
  if (queued == CUDA_SUCCESS) e.queues.hold_up();
  return queued;
}

CUresult call_program(Emulator& e, HostCall& call) {
  if (call.came_back()) return CUDA_SUCCESS;
  e.mutex.unlock();
  const bool came_back = call.go_on();
  e.mutex.lock();
  return came_back ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

}  // namespace cuvmm::emulator
