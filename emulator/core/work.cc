// SPDX-License-Identifier: Apache-2.0
#include "emulator/core/work.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "api/lost_context.h"
#include "emulator/base/say.h"
#include "emulator/core/emulator.h"
#include "emulator/core/held_up.h"

namespace cuvmm::emulator {

namespace {

// Does work on the calling thread, in the thread's current context. NOT_READY: the work has to
// wait.
CUresult run_now(Emulator& e, const Work& work) {
  Queues::inside() = true;
  try {
    const CUresult result = work(e);
    Queues::inside() = false;
    return result;
  } catch (...) {
    Queues::inside() = false;
    throw;
  }
}

CUresult queue(Emulator& e, CUstream stream, Work&& work, bool wait, WorkId* last = nullptr) {
  const auto lane = lane_of(e, stream);
  if (!lane) return Streams::is_default(stream) ? e.no_context() : e.streams.no_stream(stream);
  if (lane->context->fault != CUDA_SUCCESS) return lane->context->fault;
  const WorkId id = e.queues.add(*lane, std::move(work), last ? *last : 0);
  if (last) *last = id;
  if (!wait) return CUDA_SUCCESS;
  const CUresult result = e.queues.finish(e, {id});
  if (result != CUDA_SUCCESS) e.queues.cancel(id);  // the work may point to variables of the caller
  return result == CUDA_SUCCESS ? lane->context->fault : result;
}

// As run_now(). Work that fails on the device loses the stream's context, and the caller learns of
// it by a call that waits.
CUresult run_at_once(Emulator& e, CUstream stream, const Work& work) {
  const auto lane = lane_of(e, stream);
  if (!lane) return run_now(e, work);
  if (lane->context->fault != CUDA_SUCCESS) return lane->context->fault;
  const CUresult result = run_now(e, work);
  if (!loses_context(result)) return result;
  e.queues.lose(e, *lane->context, result);
  return CUDA_SUCCESS;
}

}  // namespace

void Queues::lose(Emulator& e, Context& context, CUresult why) {
  lose(context, why);
  if (!e.faults_of_devices() || !loses_context(context.fault)) return;
  e.contexts.fault_of(context.device) = context.fault;
  const CUresult fault = context.fault;
  e.contexts.each_alive(context.device, [&](Context& other) { lose(other, fault); });
}

// Defined here, not in queues.cc, because it releases the emulator's lock and so needs the class
// Emulator.
CUresult Queues::finish(Emulator& e, const std::vector<WorkId>& wanted) {
  const auto all_done = [&] {
    return std::all_of(wanted.begin(), wanted.end(), [this](WorkId id) { return done(id); });
  };
  struct Caller {
    std::size_t& callers;
    explicit Caller(std::size_t& count) : callers(count) { ++callers; }
    Caller(const Caller&) = delete;
    Caller& operator=(const Caller&) = delete;
    ~Caller() { --callers; }
  } const caller(callers_);
  bool noted = false;
  auto since = std::chrono::steady_clock::now();
  while (!all_done()) {
    // Where no wanted work can run, it may wait for other work or for another thread.
    if (pass(e, wanted) || run_any(e)) {
      since = std::chrono::steady_clock::now();
      continue;
    }
    if (running_ != 0 || HostCall::any_away()) since = std::chrono::steady_clock::now();
    if (std::chrono::steady_clock::now() - since >= kLongestWait) {
      since = std::chrono::steady_clock::now();
      const std::string who = who_may_end(e, present_waits(e), callers_);
      if (all_done()) break;
      if (!std::exchange(noted, true)) note(after_long_wait(who));
      if (who.empty()) return CUDA_ERROR_TIMEOUT;
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
  if (Queues::inside()) return work(e);
  if (Queues::late()) return queue(e, stream, std::move(work), false, last);
  const CUresult result = run_at_once(e, stream, work);
  if (result != CUDA_ERROR_NOT_READY) return result;
  const CUresult queued = queue(e, stream, std::move(work), false, last);
  if (queued == CUDA_SUCCESS) hold_up(e);
  return queued;
}

CUresult submit_and_wait(Emulator& e, CUstream stream, Work work) {
  if (Queues::inside()) return work(e);
  if (Queues::late()) return queue(e, stream, std::move(work), true);
  const auto lane = lane_of(e, stream);
  const CUresult result = run_at_once(e, stream, work);
  return result == CUDA_SUCCESS && lane ? lane->context->fault : result;
}

CUresult wait_for(Emulator& e, const Lane& lane) {
  if (!Queues::late()) return lane.context->fault;
  const Queues::Held held = e.queues.held(lane);
  CUresult result = e.queues.finish(e, e.queues.pending(lane));
  // The legacy work that the event's record was held for may be done by now.
  if (result == CUDA_SUCCESS && e.queues.done(held.by)) {
    result = e.queues.finish(e, {held.record});
  }
  return result == CUDA_SUCCESS ? lane.context->fault : result;
}

CUresult wait_for(Emulator& e, const Context& context) {
  if (!Queues::late()) return context.fault;
  const CUresult result = e.queues.finish(e, e.queues.pending(context));
  return result == CUDA_SUCCESS ? context.fault : result;
}

CUresult call_program(Emulator& e, HostCall& call) {
  if (call.came_back()) return CUDA_SUCCESS;
  e.mutex.unlock();
  const bool came_back = call.go_on();
  e.mutex.lock();
  return came_back ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

}  // namespace cuvmm::emulator
