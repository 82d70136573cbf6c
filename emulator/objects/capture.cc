// SPDX-License-Identifier: Apache-2.0
#include "emulator/objects/capture.h"

#include <algorithm>
#include <iterator>

namespace cuvmm::emulator {

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

Capture::Capture(CUstream origin, const Context* context, CUstreamCaptureMode mode)
    : origin_(origin), context_(context), mode_(mode), thread_(std::this_thread::get_id()) {
  static std::atomic<cuuint64_t> last{0};
  id_ = ++last;
}

void Capture::add(std::shared_ptr<GraphNode> node, CUstream stream) {
  CUstream key = Captures::key(stream);
  for (GraphNode* on : ends_[key]) node->dependencies.push_back({on});
  ends_[key] = {node.get()};
  if (key != origin_) forked_.insert(node.get());
  nodes_.push_back(std::move(node));
}

bool Capture::joined() const {
  std::set<const GraphNode*> left = forked_;
  const auto ends = ends_.find(origin_);
  if (left.empty() || ends == ends_.end()) return left.empty();
  std::set<const GraphNode*> seen;
  std::vector<const GraphNode*> next(ends->second.begin(), ends->second.end());
  while (!next.empty() && !left.empty()) {
    const GraphNode* const node = next.back();
    next.pop_back();
    if (!seen.insert(node).second) continue;
    left.erase(node);
    for (const Dependency& dependency : node->dependencies) next.push_back(dependency.on);
  }
  return left.empty();
}

void Capture::add_to(CUgraph graph, std::vector<GraphNode*> behind) {
  graph_ = graph;
  adds_to_graph_ = true;
  ends_[origin_] = std::move(behind);
}

void Capture::wait(CUstream key, const std::vector<GraphNode*>& nodes) {
  auto& ends = ends_[key];
  for (GraphNode* end : nodes) {
    if (std::find(ends.begin(), ends.end(), end) == ends.end()) ends.push_back(end);
  }
}

const std::vector<GraphNode*>& Capture::ends(CUstream key) { return ends_[key]; }

const std::vector<CUgraphNode>& Capture::dependencies(CUstream key) {
  dependencies_.clear();
  for (GraphNode* end : ends_[key]) dependencies_.push_back(end->handle());
  dependency_edges_.assign(dependencies_.size(), CUgraphEdgeData{});
  return dependencies_;
}

GraphNode* Capture::node(CUgraphNode handle) const {
  const auto found =
      std::ranges::find_if(nodes_, [&](const auto& each) { return each->handle() == handle; });
  return found == nodes_.end() ? nullptr : found->get();
}

GraphNodes Capture::take_nodes() { return std::move(nodes_); }

void Capture::allocate(Address base, Size size) { allocated_[base] = size; }

bool Capture::free(Address base, bool elsewhere) {
  const bool first = freed_.insert(base).second;
  return allocated_.erase(base) != 0 || (elsewhere && first);
}

bool Capture::allocates(Address address) const {
  const auto after = allocated_.upper_bound(address);
  return after != allocated_.begin() &&
         address - std::prev(after)->first < std::prev(after)->second;
}

Captures::Captures(const Streams& streams) : all_streams_(streams) {}

void Captures::add(CUstream stream, std::shared_ptr<Capture> capture) {
  const Stream* found = all_streams_.find(stream);
  const bool blocking = !found || !(found->flags & CU_STREAM_NON_BLOCKING);
  streams_[key(stream)] = Member{std::move(capture), blocking};
  count_ = streams_.size();
}

Capture& Captures::begin(CUstream stream, CUstreamCaptureMode mode) {
  const Stream* found = all_streams_.find(stream);
  const Context* context = found ? found->context : ContextStack::of_this_thread().live();
  add(stream, std::make_shared<Capture>(key(stream), context, mode));
  return *of(stream);
}

std::shared_ptr<Capture> Captures::end(const Capture* capture) {
  if (!capture) return nullptr;
  auto ended = streams_.at(capture->origin()).capture;
  for (auto& [event, recorded] : events_) {
    if (recorded.stream && at(recorded.stream) == capture) recorded = {};
  }
  std::erase_if(streams_, [&](const auto& entry) { return entry.second.capture == ended; });
  count_ = streams_.size();
  return ended;
}

void Captures::forget(CUstream stream) {
  Capture* capture = of(stream);
  if (!capture) return;
  if (capture->origin() == key(stream)) {
    end(capture);
    return;
  }
  // The work that the stream captured stays in the capture, and an event that the stream recorded
  // still stands for that work (an H100).
  for (auto& [event, recorded] : events_) {
    if (recorded.stream == key(stream)) recorded.stream = capture->origin();
  }
  streams_.erase(key(stream));
  count_ = streams_.size();
}

void Captures::end_those_of(const Context& context) {
  std::vector<const Capture*> ended;
  for (const auto& [stream, member] : streams_) {
    const Capture* capture = member.capture.get();
    if (capture->context() == &context && capture->origin() == stream) ended.push_back(capture);
  }
  for (const Capture* capture : ended) end(capture);
}

CUstream Captures::stream_of(CUevent event) const {
  const auto found = events_.find(event);
  return found == events_.end() ? nullptr : found->second.stream;
}

void Captures::recorded(CUevent event, CUstream stream) {
  if (Capture* capture = of(stream)) {
    events_[event] = {key(stream), capture->ends(key(stream))};
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
    if (capture->mode() == CU_STREAM_CAPTURE_MODE_RELAXED) continue;
    const bool everywhere =
        capture->mode() == CU_STREAM_CAPTURE_MODE_GLOBAL && own == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (!capture->by_this_thread() && !everywhere) continue;
    capture->invalidate();
    refused = true;
  }
  return refused ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult Captures::refuse_legacy(bool invalidate) {
  const Context* current = ContextStack::of_this_thread().live();
  bool refused = false;
  for (const auto& [stream, member] : streams_) {
    if (!member.blocking || member.capture->context() != current) continue;
    refused = true;
    if (invalidate) member.capture->invalidate();
  }
  return refused ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : CUDA_SUCCESS;
}

CUresult Captures::refuse_all() {
  for (const auto& [stream, member] : streams_) member.capture->invalidate();
  return streams_.empty() ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

bool Captures::outlived(CUevent event) const {
  const auto found = events_.find(event);
  if (found == events_.end()) return false;
  const Capture* capture = at(found->second.stream);
  return !capture || capture->invalid();
}

CUresult Captures::refuse_event(CUevent event) {
  if (outlived(event)) return CUDA_ERROR_INVALID_VALUE;
  Capture* capture = at(stream_of(event));
  if (!capture) return refuse_unsafe();
  capture->invalidate();
  return CUDA_ERROR_CAPTURED_EVENT;
}

CUresult Captures::refuse_stream(CUstream stream) {
  if (Capture* capture = of(stream)) {
    capture->invalidate();
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  const bool legacy = reinterpret_cast<std::uintptr_t>(stream) <= 1;
  const CUresult refused = legacy ? refuse_legacy() : CUDA_SUCCESS;
  return refused != CUDA_SUCCESS ? refused : refuse_unsafe();
}

CUresult Captures::wait(CUstream stream, CUevent event) {
  Capture* waiting = of(stream);
  CUstream awaited = stream_of(event);
  Capture* capture = at(awaited);
  if (!capture && !waiting) return CUDA_SUCCESS;
  if (waiting && waiting->invalid()) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!capture) {
    waiting->invalidate();
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  if (waiting && waiting != capture) {
    waiting->invalidate();
    capture->invalidate();
    return CUDA_ERROR_STREAM_CAPTURE_MERGE;
  }
  if (!waiting) add(stream, streams_.at(awaited).capture);
  capture->wait(key(stream), events_.at(event).ends);
  return CUDA_SUCCESS;
}

}  // namespace cuvmm::emulator
