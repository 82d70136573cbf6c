#include "emulator/capture.h"

#include "emulator/entry.h"

namespace cuvmm::emulator {

Captures& Captures::get() {
  static Captures* const captures = new Captures;  // outlives the program's destructors
  return *captures;
}

CUstreamCaptureMode& Captures::thread_mode() {
  static constinit thread_local CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  return mode;
}

Capture* Captures::of(CUstream stream) const {
  const auto found = streams_.find(stream);
  return found == streams_.end() ? nullptr : found->second.get();
}

void Captures::begin(CUstream stream, CUstreamCaptureMode mode) {
  auto capture = std::make_shared<Capture>();
  capture->origin = stream;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->id = ++last_id_;
  streams_[stream] = std::move(capture);
  count_ = streams_.size();
}

void Captures::join(CUstream stream, Capture& capture) {
  streams_[stream] = streams_.at(capture.origin);
  count_ = streams_.size();
}

std::shared_ptr<Capture> Captures::end(CUstream origin) {
  auto capture = streams_.at(origin);
  std::erase_if(events_, [&](const auto& entry) { return of(entry.second) == capture.get(); });
  std::erase_if(streams_, [&](const auto& entry) { return entry.second == capture; });
  count_ = streams_.size();
  return capture;
}

CUstream Captures::stream_of(CUevent event) const {
  const auto found = events_.find(event);
  return found == events_.end() ? nullptr : found->second;
}

void Captures::recorded(CUevent event, CUstream stream) {
  if (of(stream)) {
    events_[event] = stream;
  } else {
    events_.erase(event);
  }
}

CUresult Captures::refuse_unsafe() {
  const CUstreamCaptureMode own = thread_mode();
  if (own == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
  bool refused = false;
  for (const auto& [stream, capture] : streams_) {
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
  for (const auto& [handle, capture] : streams_) {
    const Stream* stream = e.streams.find(handle);
    const bool blocking = stream && !(stream->flags & CU_STREAM_NON_BLOCKING);
    if (!blocking || stream->context != e.current_context()) continue;
    refused = true;
    if (invalidate) capture->invalid = true;
  }
  return refused ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : CUDA_SUCCESS;
}

CUresult Captures::refuse_all() {
  for (const auto& [stream, capture] : streams_) capture->invalid = true;
  return streams_.empty() ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult Captures::refuse_event(CUevent event) {
  Capture* capture = of(stream_of(event));
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

CUresult Captures::wait(CUstream stream, CUevent event) {
  Capture* waiting = of(stream);
  const CUstream awaited = stream_of(event);
  Capture* capture = of(awaited);
  if (!capture && !waiting) return CUDA_SUCCESS;
  if (!capture) {
    waiting->invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  if (waiting && waiting != capture) {
    waiting->invalid = capture->invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_MERGE;
  }
  if (!waiting) join(stream, *capture);
  if (awaited != stream) capture->unjoined.erase(awaited);
  return CUDA_SUCCESS;
}

CUresult refuse_unsafe_in_capture() noexcept {
  if (!Captures::any()) return CUDA_SUCCESS;
  return locked([](Emulator&) { return Captures::get().refuse_unsafe(); });
}

namespace {

constexpr Size kPage = 4096;

// The memory of an allocation node: its address is its own from the capture on, and is taken again
// where it was freed before the graph is launched once more.
struct NodeMemory {
  Address base = 0;
  Size size = 0;
  std::uint64_t pool = 0;
  CUmemAllocationProp prop{};
  bool reserved = true;  // by the capture, and not used yet

  CUresult allocate(Emulator& e) {
    if (e.plain.contains(base)) return CUDA_ERROR_INVALID_VALUE;  // launched again, never freed
    if (!reserved && e.space.take(size, 0, base) != base) return CUDA_ERROR_OUT_OF_MEMORY;
    reserved = false;
    const Size pages = (size + kPage - 1) / kPage * kPage;
    Device& device = e.devices[static_cast<std::size_t>(prop.location.id)];
    e.plain.emplace(base,
                    PlainAllocation{.base = base,
                                    .size = size,
                                    .context = e.current_context(),
                                    .memory = Physical(pages, prop, false, pages, &device.used),
                                    .pool = pool});
    e.pools.took(pool, size);
    return CUDA_SUCCESS;
  }
};

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
  const bool plain = pool.prop.location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
                     static_cast<unsigned>(pool.prop.requestedHandleTypes) == 0;
  if (!plain) return CUDA_ERROR_NOT_SUPPORTED;
  const auto base = e.space.take(size, 0, 0);
  if (!base) return CUDA_ERROR_OUT_OF_MEMORY;
  auto memory = std::make_shared<NodeMemory>(
      NodeMemory{.base = *base, .size = size, .pool = pool.handle, .prop = pool.prop});
  capture->nodes.push_back(
      node(CU_GRAPH_NODE_TYPE_MEM_ALLOC, [memory](Emulator& at) { return memory->allocate(at); }));
  capture->allocated.insert(*base);
  *out = *base;
  return CUDA_SUCCESS;
}

std::optional<CUresult> captured_free(Emulator& e, CUdeviceptr address, CUstream stream) {
  Capture* capture = Captures::get().of(stream);
  if (!capture) return beside_capture(e, stream);
  if (capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (capture->allocated.erase(address) == 0) return CUDA_ERROR_INVALID_VALUE;
  capture->nodes.push_back(node(CU_GRAPH_NODE_TYPE_MEM_FREE, [address](Emulator& at) -> CUresult {
    const auto found = at.plain.find(address);
    if (found == at.plain.end()) return CUDA_ERROR_INVALID_VALUE;
    at.pools.freed(found->second.pool, found->second.size);
    at.end_plain(address);
    return CUDA_SUCCESS;
  }));
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
