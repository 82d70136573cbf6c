// SPDX-License-Identifier: Apache-2.0
#include "emulator/context/capture.h"

#include <algorithm>

#include "emulator/code/launch.h"
#include "emulator/entry/locked.h"
#include "emulator/graph/graph_allocation.h"

namespace cuvmm::emulator {

Captures& Captures::get() {
  static Captures* const captures = new Captures;  // outlives the program's destructors
  return *captures;
}

CUstreamCaptureMode& Captures::thread_mode() {
  static constinit thread_local CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  return mode;
}

CUstream Captures::key(CUstream stream) {
  static thread_local char own = 0;
  return stream == CU_STREAM_PER_THREAD ? reinterpret_cast<CUstream>(&own) : stream;
}

Capture* Captures::at(CUstream key) const {
  const auto found = streams_.find(key);
  return found == streams_.end() ? nullptr : found->second.capture.get();
}

Capture* Captures::of(CUstream stream) const { return at(key(stream)); }

void Capture::add(std::shared_ptr<GraphNode> node, CUstream stream) {
  CUstream key = Captures::key(stream);
  for (GraphNode* on : ends[key]) node->dependencies.push_back({on});
  ends[key] = {node.get()};
  nodes.push_back(std::move(node));
  if (key != origin) unjoined.insert(key);
}

void Captures::add(const Emulator& e, CUstream stream, std::shared_ptr<Capture> capture) {
  const Stream* found = e.streams.find(stream);
  const bool blocking = !found || !(found->flags & CU_STREAM_NON_BLOCKING);
  streams_[key(stream)] = Member{std::move(capture), blocking};
  count_ = streams_.size();
}

void Captures::begin(const Emulator& e, CUstream stream, CUstreamCaptureMode mode) {
  auto capture = std::make_shared<Capture>();
  capture->origin = key(stream);
  const Stream* found = e.streams.find(stream);
  capture->context = found ? found->context : e.current_context();
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  add(e, stream, std::move(capture));
}

std::shared_ptr<Capture> Captures::end(const Capture* capture) {
  if (!capture) return nullptr;
  auto ended = streams_.at(capture->origin).capture;
  std::erase_if(events_, [&](const auto& entry) { return at(entry.second.stream) == capture; });
  std::erase_if(streams_, [&](const auto& entry) { return entry.second.capture == ended; });
  count_ = streams_.size();
  return ended;
}

void Captures::forget(CUstream stream) {
  Capture* capture = of(stream);
  if (!capture) return;
  if (capture->origin == key(stream)) {
    end(capture);
    return;
  }
  capture->invalid = true;
  streams_.erase(key(stream));
  count_ = streams_.size();
}

void Captures::end_those_of(const Context& context) {
  std::vector<const Capture*> ended;
  for (const auto& [stream, member] : streams_) {
    const Capture* capture = member.capture.get();
    if (capture->context == &context && capture->origin == stream) ended.push_back(capture);
  }
  for (const Capture* capture : ended) end(capture);
}

CUstream Captures::stream_of(CUevent event) const {
  const auto found = events_.find(event);
  return found == events_.end() ? nullptr : found->second.stream;
}

void Captures::recorded(CUevent event, CUstream stream) {
  if (Capture* capture = of(stream)) {
    events_[event] = {key(stream), capture->ends[key(stream)]};
  } else {
    events_.erase(event);
  }
}

CUresult Captures::refuse_unsafe() {
  const CUstreamCaptureMode own = thread_mode();
  if (own == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
  bool refused = false;
  for (const auto& [stream, member] : streams_) {
    Capture* capture = member.capture.get();
    if (capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED) continue;
    const bool here = capture->thread == std::this_thread::get_id();
    const bool everywhere =
        capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL && own == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (!here && !everywhere) continue;
    capture->invalid = refused = true;
  }
  return refused ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult Captures::refuse_legacy(const Emulator& e, bool invalidate) {
  bool refused = false;
  for (const auto& [stream, member] : streams_) {
    if (!member.blocking || member.capture->context != e.current_context()) continue;
    refused = true;
    if (invalidate) member.capture->invalid = true;
  }
  return refused ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : CUDA_SUCCESS;
}

CUresult Captures::refuse_all() {
  for (const auto& [stream, member] : streams_) member.capture->invalid = true;
  return streams_.empty() ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult Captures::refuse_event(CUevent event) {
  Capture* capture = at(stream_of(event));
  if (!capture) return refuse_unsafe();
  capture->invalid = true;
  return CUDA_ERROR_CAPTURED_EVENT;
}

CUresult Captures::refuse_stream(const Emulator& e, CUstream stream) {
  if (Capture* capture = of(stream)) {
    capture->invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  const bool legacy = reinterpret_cast<std::uintptr_t>(stream) <= 1;
  const CUresult refused = legacy ? refuse_legacy(e) : CUDA_SUCCESS;
  return refused != CUDA_SUCCESS ? refused : refuse_unsafe();
}

CUresult Captures::wait(const Emulator& e, CUstream stream, CUevent event) {
  Capture* waiting = of(stream);
  CUstream awaited = stream_of(event);
  Capture* capture = at(awaited);
  if (!capture && !waiting) return CUDA_SUCCESS;
  if (!capture) {
    waiting->invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  if (waiting && waiting != capture) {
    waiting->invalid = capture->invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_MERGE;
  }
  if (!waiting) add(e, stream, streams_.at(awaited).capture);
  if (awaited != key(stream)) capture->unjoined.erase(awaited);
  auto& ends = capture->ends[key(stream)];
  for (GraphNode* end : events_.at(event).ends) {
    if (std::find(ends.begin(), ends.end(), end) == ends.end()) ends.push_back(end);
  }
  return CUDA_SUCCESS;
}

CUresult refuse_unsafe_in_capture() noexcept {
  if (!Captures::any()) return CUDA_SUCCESS;
  return locked([](Emulator&) { return Captures::get().refuse_unsafe(); });
}

namespace {

std::shared_ptr<GraphNode> node(CUgraphNodeType type, std::function<CUresult(Emulator&)> run) {
  auto made = std::make_shared<GraphNode>();
  made->type = type;
  made->run = std::move(run);
  return made;
}

// What is not captured, but on the legacy stream, or memory's coming and going beside a capture.
std::optional<CUresult> beside_capture(Emulator& e, CUstream stream) {
  Captures& captures = Captures::get();
  CUresult refused = CUDA_SUCCESS;
  if (reinterpret_cast<std::uintptr_t>(stream) <= 1) refused = captures.refuse_legacy(e);
  if (refused == CUDA_SUCCESS) refused = captures.refuse_unsafe();
  return refused == CUDA_SUCCESS ? std::nullopt : std::optional(refused);
}

}  // namespace

std::optional<CUresult> captured_allocation(Emulator& e, CUdeviceptr* out, std::size_t size,
                                            const Pool& pool, CUstream stream) {
  Capture* capture = Captures::get().of(stream);
  if (!capture) return beside_capture(e, stream);
  if (capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!out || size == 0) return CUDA_ERROR_INVALID_VALUE;
  // A pool that can be shared, or of the host, has no nodes.
  const bool plain = pool.prop().location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
                     static_cast<unsigned>(pool.prop().requestedHandleTypes) == 0;
  if (!plain) return CUDA_ERROR_NOT_SUPPORTED;
  const auto base = e.space.take(size, 0, 0);
  if (!base) return CUDA_ERROR_OUT_OF_MEMORY;
  const auto memory = std::make_shared<NodeMemory>(e.space, *base, size, pool);
  auto made =
      node(CU_GRAPH_NODE_TYPE_MEM_ALLOC, [memory](Emulator& at) { return allocate(at, *memory); });
  made->memory = memory;
  capture->add(std::move(made), stream);
  capture->allocated[*base] = size;
  *out = *base;
  return CUDA_SUCCESS;
}

std::optional<CUresult> captured_free(Emulator& e, CUdeviceptr address, CUstream stream) {
  Capture* capture = Captures::get().of(stream);
  if (!capture) return beside_capture(e, stream);
  if (capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (capture->allocated.erase(address) == 0) return CUDA_ERROR_INVALID_VALUE;
  const auto release = [address](Emulator& at) { return free_node_memory(at, address); };
  capture->add(node(CU_GRAPH_NODE_TYPE_MEM_FREE, release), stream);
  return CUDA_SUCCESS;
}

std::optional<CUresult> captured_launch(Emulator& e, const char* entry, CUstream stream) {
  Captures& captures = Captures::get();
  Capture* capture = captures.of(stream);
  if (!capture) {
    const bool legacy = reinterpret_cast<std::uintptr_t>(stream) <= 1;
    const CUresult refused = legacy ? captures.refuse_legacy(e) : CUDA_SUCCESS;
    return refused == CUDA_SUCCESS ? std::nullopt : std::optional(refused);
  }
  if (capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  capture->add(node(CU_GRAPH_NODE_TYPE_KERNEL,
                    [entry](Emulator&) {
                      skip_launch(entry);
                      return CUDA_SUCCESS;
                    }),
               stream);
  return CUDA_SUCCESS;
}

std::optional<CUresult> captured_event(CUevent event, CUstream stream) {
  Captures& captures = Captures::get();
  Emulator& e = Emulator::get();
  if (reinterpret_cast<std::uintptr_t>(stream) <= 1) {
    const CUresult refused = captures.refuse_legacy(e);
    if (refused != CUDA_SUCCESS) return refused;
  }
  captures.recorded(event, stream);
  return std::nullopt;
}

}  // namespace cuvmm::emulator
