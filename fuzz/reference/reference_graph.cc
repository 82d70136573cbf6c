// SPDX-License-Identifier: Apache-2.0
// Work on streams, events and graphs, as they are captured. reference_capture.cc says where the
// answers come from.
#include "fuzz/reference/reference.h"

namespace cuvmm::fuzz {

namespace {

using Health = CaptureState::Health;

bool is_over(const std::vector<CaptureState::Capture>& captures, int capture) {
  return capture >= 0 && !captures[static_cast<std::size_t>(capture)].live();
}

// Whether one order of the nodes is the only one.
bool is_chain(const std::vector<CaptureState::Node>& nodes) {
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    std::vector<bool> seen(nodes.size());
    CaptureState::mark(nodes, static_cast<int>(i), seen);
    if (!seen[i - 1]) return false;
  }
  return true;
}

}  // namespace

// --- Work on a stream

const CaptureState::Stream* Reference::judge_work(Judgement& out, CUstream handle,
                                                  Actor actor) const {
  if (!handle) {
    judge_legacy(out, actor);
    return nullptr;
  }
  const CaptureState::Stream* stream = judge_stream(out, handle, actor);
  const CaptureState::Capture* capture = stream ? captures_.of(*stream) : nullptr;
  // cuda.h: a call that gives work to a capture that is lost says so. Which of the two answers to
  // expect is not known where the call has another mistake, too.
  if (capture && capture->health != Health::kActive) out.uncovered = true;
  return stream;
}

Judgement Reference::judge(const calls::MemsetD8Async& call, Actor actor) const {
  Judgement out = judge(calls::MemsetD8{call.dstDevice, call.uc, call.N}, actor);
  const CaptureState::Stream* stream = judge_work(out, call.hStream, actor);
  if (!stream || stream->capture < 0) return out;
  Judgement captured;
  captured.uncovered = out.uncovered || call.N == 0;
  // The node of a fill is made without a look at its memory, if the memory is reserved.
  const Cell* cell = cell_at(call.dstDevice);
  const bool reserved = cell && cell->mapping < 0;
  if (!out.sure() && !reserved) captured.uncovered = true;
  return captured;
}
Judgement Reference::judge(const calls::MemcpyDtoDAsync& call, Actor actor) const {
  Judgement out = judge(calls::MemcpyDtoD{call.dstDevice, call.srcDevice, call.ByteCount}, actor);
  judge_work(out, call.hStream, actor);
  return out;
}
const char* Reference::capture(CUstream handle, CaptureState::Node node) {
  CaptureState::Stream* stream = captures_.find(captures_.streams, handle);
  std::vector<CaptureState::Node>& nodes = captures_.of(*stream)->nodes;
  node.after = stream->front;
  stream->front = {static_cast<int>(nodes.size())};
  nodes.push_back(std::move(node));
  return nullptr;
}
bool Reference::captures(CUstream handle) const {
  const CaptureState::Stream* stream = handle ? captures_.find(captures_.streams, handle) : nullptr;
  return stream && stream->capture >= 0;
}
const char* Reference::accept(const calls::MemsetD8Async& call) {
  if (!captures(call.hStream)) {
    return accept(calls::MemsetD8{call.dstDevice, call.uc, call.N});
  }
  return capture(call.hStream, {false, call.dstDevice, 0, call.N, call.uc, {}});
}
const char* Reference::accept(const calls::MemcpyDtoDAsync& call) {
  if (!captures(call.hStream)) {
    return accept(calls::MemcpyDtoD{call.dstDevice, call.srcDevice, call.ByteCount});
  }
  if (call.ByteCount == 0) return nullptr;  // no node
  return capture(call.hStream, {true, call.dstDevice, call.srcDevice, call.ByteCount, 0, {}});
}
void Reference::refuse(const calls::MemsetD8Async& call, CUresult answer, Actor actor) {
  if (!call.hStream && answer == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) lose_all(false, actor);
}
void Reference::refuse(const calls::MemcpyDtoDAsync& call, CUresult answer, Actor actor) {
  if (!call.hStream && answer == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) lose_all(false, actor);
}

// --- Events

const CaptureState::Event* Reference::judge_event(Judgement& out, CUevent handle,
                                                  Actor actor) const {
  const CaptureState::Event* event = captures_.find(captures_.events, handle);
  if (!event || !event->live || event->device != actor.device) {
    out.uncovered = true;
    return nullptr;
  }
  return event;
}

Judgement Reference::judge(const calls::EventCreate&, Actor actor) const {
  Judgement out;
  out.uncovered = actor.device < 0;
  return out;
}
const char* Reference::accept(const calls::EventCreate& call, Actor actor) {
  captures_.events.push_back({reinterpret_cast<std::uint64_t>(*call.phEvent), actor.device});
  return nullptr;
}

Judgement Reference::judge(const calls::EventDestroy& call, Actor actor) const {
  Judgement out;
  judge_event(out, call.hEvent, actor);
  if (captures_.capturing()) out.uncovered = true;
  return out;
}
const char* Reference::accept(const calls::EventDestroy& call) {
  captures_.find(captures_.events, call.hEvent)->live = false;
  return nullptr;
}

Judgement Reference::judge(const calls::EventRecord& call, Actor actor) const {
  Judgement out;
  judge_event(out, call.hEvent, actor);
  judge_work(out, call.hStream, actor);
  return out;
}
const char* Reference::accept(const calls::EventRecord& call) {
  CaptureState::Event* event = captures_.find(captures_.events, call.hEvent);
  const CaptureState::Stream* stream =
      call.hStream ? captures_.find(captures_.streams, call.hStream) : nullptr;
  event->recorded = true;
  event->capture = stream ? stream->capture : -1;
  event->front = stream ? stream->front : std::vector<int>();
  return nullptr;
}
void Reference::refuse(const calls::EventRecord& call, CUresult answer, Actor actor) {
  if (!call.hStream && answer == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) lose_all(false, actor);
}

void Reference::judge_event_wait(Judgement& out, CUevent handle, Actor actor) const {
  const CaptureState::Event* event = judge_event(out, handle, actor);
  if (!event) return;
  if (event->capture < 0) return judge_unsafe(out, actor);
  // Behind the capture's end the event answers this until it is recorded again.
  if (is_over(captures_.captures, event->capture)) {
    if (captures_.capturing()) out.uncovered = true;
    return out.demand(CUDA_ERROR_INVALID_VALUE);
  }
  if (captures_.captures[static_cast<std::size_t>(event->capture)].health != Health::kActive) {
    out.uncovered = true;
  }
  out.add(Rule::kStreamCaptureEvent);
}
void Reference::refuse_event_wait(CUevent handle, CUresult answer, Actor actor) {
  const CaptureState::Event* event = captures_.find(captures_.events, handle);
  if (answer == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) lose_all(true, actor);
  if (answer != CUDA_ERROR_CAPTURED_EVENT || !event || event->capture < 0) return;
  lose(captures_.captures[static_cast<std::size_t>(event->capture)]);
}
Judgement Reference::judge(const calls::EventQuery& call, Actor actor) const {
  Judgement out;
  judge_event_wait(out, call.hEvent, actor);
  return out;
}
Judgement Reference::judge(const calls::EventSynchronize& call, Actor actor) const {
  Judgement out;
  judge_event_wait(out, call.hEvent, actor);
  return out;
}
void Reference::refuse(const calls::EventQuery& call, CUresult answer, Actor actor) {
  refuse_event_wait(call.hEvent, answer, actor);
}
void Reference::refuse(const calls::EventSynchronize& call, CUresult answer, Actor actor) {
  refuse_event_wait(call.hEvent, answer, actor);
}

Judgement Reference::judge(const calls::StreamWaitEvent& call, Actor actor) const {
  Judgement out;
  const CaptureState::Event* event = judge_event(out, call.hEvent, actor);
  if (!event) return out;
  // Neither cuda.h nor a record has the answer of these.
  if (is_over(captures_.captures, event->capture)) out.uncovered = true;
  if (!call.hStream) {
    if (captures_.capturing()) out.uncovered = true;
    return out;
  }
  const CaptureState::Stream* stream = judge_work(out, call.hStream, actor);
  if (!stream) return out;
  const CaptureState::Capture* of_event =
      event->capture < 0 ? nullptr : &captures_.captures[static_cast<std::size_t>(event->capture)];
  if (of_event && of_event->health != Health::kActive) out.uncovered = true;
  if (stream->capture < 0) return out;
  if (!event->recorded) out.uncovered = true;
  if (event->capture < 0) out.demand(CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  if (event->capture >= 0 && event->capture != stream->capture) out.uncovered = true;
  return out;
}
const char* Reference::accept(const calls::StreamWaitEvent& call) {
  const CaptureState::Event* event = captures_.find(captures_.events, call.hEvent);
  if (!call.hStream || event->capture < 0) return nullptr;
  CaptureState::Stream* stream = captures_.find(captures_.streams, call.hStream);
  stream->capture = event->capture;
  for (const int node : event->front) {
    const auto end = stream->front.end();
    if (std::find(stream->front.begin(), end, node) == end) stream->front.push_back(node);
  }
  return nullptr;
}
void Reference::refuse(const calls::StreamWaitEvent& call, CUresult answer, Actor) {
  if (answer != CUDA_ERROR_STREAM_CAPTURE_ISOLATION) return;
  CaptureState::Stream* stream = captures_.find(captures_.streams, call.hStream);
  if (CaptureState::Capture* capture = captures_.of(*stream)) lose(*capture);
}

// --- Graphs

// The worst that is wrong with the memory of a node, as if its work were done now.
Judgement Reference::judge_node(const CaptureState::Node& node, int device) const {
  const Actor actor{device};
  return node.copies ? judge(calls::MemcpyDtoD{node.to, node.from, node.size}, actor)
                     : judge(calls::MemsetD8{node.to, node.value, node.size}, actor);
}

Judgement Reference::judge(const calls::GraphInstantiateWithFlags& call, Actor actor) const {
  Judgement out;
  const CaptureState::Graph* graph = captures_.find(captures_.graphs, call.hGraph);
  if (!graph || !graph->known || graph->device != actor.device || captures_.capturing()) {
    out.uncovered = true;
    return out;
  }
  for (const CaptureState::Node& node : graph->nodes) {
    const Judgement judged = judge_node(node, graph->device);
    if (judged.sure()) continue;
    // A fill of memory that is only reserved is refused here; nothing is recorded of other memory.
    const Cell* cell = cell_at(node.to);
    if (node.copies || !cell || cell->mapping >= 0) out.uncovered = true;
    if (!out.demands()) out.demand(CUDA_ERROR_INVALID_VALUE);
  }
  return out;
}
const char* Reference::accept(const calls::GraphInstantiateWithFlags& call) {
  const CaptureState::Graph* graph = captures_.find(captures_.graphs, call.hGraph);
  captures_.executables.push_back(
      {reinterpret_cast<std::uint64_t>(*call.phGraphExec), graph->device, graph->nodes});
  return nullptr;
}

Judgement Reference::judge(const calls::GraphLaunch& call, Actor actor) const {
  Judgement out;
  const CaptureState::Executable* executable =
      captures_.find(captures_.executables, call.hGraphExec);
  if (call.hStream) judge_stream(out, call.hStream, actor);
  if (!executable || !executable->live || executable->device != actor.device ||
      captures_.capturing() || !is_chain(executable->nodes)) {
    out.uncovered = true;
    return out;
  }
  for (const CaptureState::Node& node : executable->nodes) {
    const Judgement judged = judge_node(node, executable->device);
    // A GPU faults, and then nothing works.
    if (!judged.sure()) out.uncovered = true;
  }
  return out;
}
const char* Reference::accept(const calls::GraphLaunch& call) {
  const CaptureState::Executable* executable =
      captures_.find(captures_.executables, call.hGraphExec);
  for (const CaptureState::Node& node : executable->nodes) {
    node.copies ? accept(calls::MemcpyDtoD{node.to, node.from, node.size})
                : accept(calls::MemsetD8{node.to, node.value, node.size});
  }
  return nullptr;
}

Judgement Reference::judge(const calls::GraphExecDestroy& call, Actor) const {
  Judgement out;
  const CaptureState::Executable* executable =
      captures_.find(captures_.executables, call.hGraphExec);
  if (!executable || !executable->live || captures_.capturing()) out.uncovered = true;
  return out;
}
const char* Reference::accept(const calls::GraphExecDestroy& call) {
  captures_.find(captures_.executables, call.hGraphExec)->live = false;
  return nullptr;
}

std::vector<std::uint64_t> Reference::streams() const {
  std::vector<std::uint64_t> out;
  for (const CaptureState::Stream& stream : captures_.streams) {
    if (stream.live) out.push_back(stream.value);
  }
  return out;
}
std::vector<std::uint64_t> Reference::events() const {
  std::vector<std::uint64_t> out;
  for (const CaptureState::Event& event : captures_.events) {
    if (event.live) out.push_back(event.value);
  }
  return out;
}
std::vector<std::uint64_t> Reference::graphs() const {
  std::vector<std::uint64_t> out;
  for (const CaptureState::Graph& graph : captures_.graphs) {
    if (graph.value != 0) out.push_back(graph.value);
  }
  return out;
}
std::vector<std::uint64_t> Reference::executables() const {
  std::vector<std::uint64_t> out;
  for (const CaptureState::Executable& executable : captures_.executables) {
    if (executable.live) out.push_back(executable.value);
  }
  return out;
}

}  // namespace cuvmm::fuzz
