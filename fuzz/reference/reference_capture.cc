// SPDX-License-Identifier: Apache-2.0
// Streams and captures, from cuda.h and the answers of an H200
// (emulator/testing_capture/h200-580.159.04.txt). Calls whose answer neither gives are not made.
#include "fuzz/reference/reference.h"

namespace cuvmm::fuzz {

namespace {

using Health = CaptureState::Health;

InCapture kind_of(EntryPoint entry) {
  switch (entry) {
    case EntryPoint::kMemAddressReserve:
    case EntryPoint::kMemAddressFree:
    case EntryPoint::kMemCreate:
    case EntryPoint::kMemRelease:
    case EntryPoint::kMemMap:
    case EntryPoint::kMemUnmap:
    case EntryPoint::kMemSetAccess:
    case EntryPoint::kMemGetAccess:
    case EntryPoint::kMemExportToShareableHandle:
    case EntryPoint::kMemImportFromShareableHandle:
    case EntryPoint::kMemRetainAllocationHandle:
    case EntryPoint::kMemGetAllocationGranularity:
    case EntryPoint::kMemGetAllocationPropertiesFromHandle:
    case EntryPoint::kMemGetHandleForAddressRange:
    case EntryPoint::kIpcGetMemHandle:
      return InCapture::kFree;
    case EntryPoint::kImportExternalMemory:
    case EntryPoint::kMemAlloc:
    case EntryPoint::kMemFree:
    case EntryPoint::kMemPoolCreate:
    case EntryPoint::kMemPoolDestroy:
    case EntryPoint::kMemPoolTrimTo:
    case EntryPoint::kMemPoolExportToShareableHandle:
      return InCapture::kUnsafe;
    case EntryPoint::kMemcpyDtoH:
    case EntryPoint::kMemcpyHtoD:
    case EntryPoint::kMemcpyDtoD:
    case EntryPoint::kMemsetD8:
    case EntryPoint::kMemsetD16:
    case EntryPoint::kMemsetD32:
      return InCapture::kLegacy;
    case EntryPoint::kMemAllocFromPoolAsync:
    case EntryPoint::kMemFreeAsync:
      return InCapture::kLegacyUnsafe;
    case EntryPoint::kStreamCreate:
    case EntryPoint::kStreamDestroy:
    case EntryPoint::kStreamBeginCapture:
    case EntryPoint::kStreamEndCapture:
    case EntryPoint::kStreamSynchronize:
    case EntryPoint::kStreamQuery:
    case EntryPoint::kStreamWaitEvent:
    case EntryPoint::kEventCreate:
    case EntryPoint::kEventDestroy:
    case EntryPoint::kEventRecord:
    case EntryPoint::kEventQuery:
    case EntryPoint::kEventSynchronize:
    case EntryPoint::kMemsetD8Async:
    case EntryPoint::kMemcpyDtoDAsync:
    case EntryPoint::kGraphInstantiateWithFlags:
    case EntryPoint::kGraphLaunch:
    case EntryPoint::kGraphExecDestroy:
      return InCapture::kOwn;
    default:
      return InCapture::kUnknown;
  }
}

}  // namespace

// --- Calls that are not about streams

bool Reference::forbids(const CaptureState::Capture& capture, Actor actor) {
  if (!capture.live()) return false;
  return capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL ||
         (capture.mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL && capture.thread == actor.thread);
}

void Reference::judge_unsafe(Judgement& out, Actor actor) const {
  for (const CaptureState::Capture& capture : captures_.captures) {
    if (!forbids(capture, actor)) continue;
    // No record says whether a capture that is lost still forbids anything.
    if (capture.health != Health::kActive) out.uncovered = true;
    out.add(Rule::kStreamCapture);
  }
}

void Reference::judge_legacy(Judgement& out, Actor actor) const {
  for (std::size_t i = 0; i < captures_.captures.size(); ++i) {
    const CaptureState::Capture& capture = captures_.captures[i];
    if (!capture.live() || capture.device != actor.device || !captures_.blocks(static_cast<int>(i)))
      continue;
    if (capture.health != Health::kActive) out.uncovered = true;
    out.add(Rule::kStreamCaptureLegacy);
  }
}

void Reference::hold_back(Judgement& out, EntryPoint entry, Actor actor) const {
  const InCapture kind = kind_of(entry);
  if (!captures_.capturing() || kind == InCapture::kOwn || kind == InCapture::kFree) return;
  if (kind == InCapture::kUnknown || actor.device < 0) out.uncovered = true;
  if (kind != InCapture::kLegacy) judge_unsafe(out, actor);
  if (kind != InCapture::kUnsafe) judge_legacy(out, actor);
}

void Reference::lose(CaptureState::Capture& capture) {
  if (capture.health == Health::kActive) capture.health = Health::kLost;
}

void Reference::refused_in_capture(EntryPoint entry, CUresult answer, Actor actor) {
  const InCapture kind = kind_of(entry);
  const bool unsafe = answer == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (kind == InCapture::kOwn) return;
  if (!unsafe && answer != CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return;
  lose_all(unsafe, actor);
}

void Reference::lose_all(bool unsafe, Actor actor) {
  std::vector<CaptureState::Capture*> lost;
  for (std::size_t i = 0; i < captures_.captures.size(); ++i) {
    CaptureState::Capture& capture = captures_.captures[i];
    const bool waits =
        capture.live() && capture.device == actor.device && captures_.blocks(static_cast<int>(i));
    if (unsafe ? forbids(capture, actor) : waits) lost.push_back(&capture);
  }
  if (lost.size() == 1) return lose(*lost.front());
  for (CaptureState::Capture* capture : lost) capture->health = Health::kDoubt;
}

// --- Streams

const CaptureState::Stream* Reference::judge_stream(Judgement& out, CUstream handle,
                                                    Actor actor) const {
  const CaptureState::Stream* stream = captures_.find(captures_.streams, handle);
  // Drivers die of handles that are not valid.
  if (!stream || !stream->live || stream->device != actor.device) {
    out.uncovered = true;
    return nullptr;
  }
  return stream;
}

Judgement Reference::judge(const calls::StreamCreate&, Actor actor) const {
  Judgement out;
  out.uncovered = actor.device < 0;
  return out;
}
const char* Reference::accept(const calls::StreamCreate& call, Actor actor) {
  const auto value = reinterpret_cast<std::uint64_t>(*call.phStream);
  for (const CaptureState::Stream& stream : captures_.streams) {
    if (stream.live && stream.value == value) return "the stream's handle is another stream's";
  }
  captures_.streams.push_back({value, actor.device, (call.Flags & CU_STREAM_NON_BLOCKING) == 0});
  return nullptr;
}

Judgement Reference::judge(const calls::StreamDestroy& call, Actor actor) const {
  Judgement out;
  const CaptureState::Stream* stream = judge_stream(out, call.hStream, actor);
  if (!stream) return out;
  const auto members =
      std::count_if(captures_.streams.begin(), captures_.streams.end(),
                    [](const CaptureState::Stream& each) { return each.capture >= 0; });
  // Only a capture of one stream is known to end with the stream.
  const CaptureState::Capture* own = captures_.of(*stream);
  const int index = static_cast<int>(stream - captures_.streams.data());
  if (members > (own && own->origin == index ? 1 : 0)) out.uncovered = true;
  return out;
}
const char* Reference::accept(const calls::StreamDestroy& call) {
  CaptureState::Stream* stream = captures_.find(captures_.streams, call.hStream);
  if (stream->capture >= 0) captures_.finish(stream->capture);
  stream->live = false;
  return nullptr;
}

void Reference::judge_wait(Judgement& out, CUstream handle, Actor actor) const {
  if (!handle) {
    // The legacy stream is asked first whether it waits for a stream that captures.
    judge_legacy(out, actor);
    judge_unsafe(out, actor);
    out.uncovered |= actor.device < 0;
    return;
  }
  const CaptureState::Stream* stream = judge_stream(out, handle, actor);
  const CaptureState::Capture* capture = stream ? captures_.of(*stream) : nullptr;
  if (!capture) return judge_unsafe(out, actor);
  if (capture->health != Health::kActive) out.uncovered = true;
  out.add(Rule::kStreamCaptureWait);
}
void Reference::refuse_wait(CUstream handle, CUresult answer, Actor actor) {
  const bool unsafe = answer == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (!unsafe && answer != CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return;
  CaptureState::Stream* stream = handle ? captures_.find(captures_.streams, handle) : nullptr;
  CaptureState::Capture* capture = stream ? captures_.of(*stream) : nullptr;
  capture ? lose(*capture) : lose_all(unsafe, actor);
}

Judgement Reference::judge(const calls::StreamSynchronize& call, Actor actor) const {
  Judgement out;
  judge_wait(out, call.hStream, actor);
  return out;
}
Judgement Reference::judge(const calls::StreamQuery& call, Actor actor) const {
  Judgement out;
  judge_wait(out, call.hStream, actor);
  return out;
}
void Reference::refuse(const calls::StreamSynchronize& call, CUresult answer, Actor actor) {
  refuse_wait(call.hStream, answer, actor);
}
void Reference::refuse(const calls::StreamQuery& call, CUresult answer, Actor actor) {
  refuse_wait(call.hStream, answer, actor);
}

// --- The begin and the end of a capture

Judgement Reference::judge(const calls::StreamBeginCapture& call, Actor actor) const {
  Judgement out;
  if (!call.hStream) {
    judge_legacy(out, actor);
    out.uncovered |= actor.device < 0;
    if (out.count == 0) out.add(Rule::kStreamCaptureDefault);
    return out;
  }
  const CaptureState::Stream* stream = judge_stream(out, call.hStream, actor);
  const CaptureState::Capture* capture = stream ? captures_.of(*stream) : nullptr;
  if (!capture) return out;
  if (capture->health != Health::kActive) out.uncovered = true;
  out.demand(CUDA_ERROR_ILLEGAL_STATE);
  return out;
}
const char* Reference::accept(const calls::StreamBeginCapture& call, Actor actor) {
  CaptureState::Stream* stream = captures_.find(captures_.streams, call.hStream);
  stream->capture = static_cast<int>(captures_.captures.size());
  stream->front.clear();
  captures_.captures.push_back(
      {call.mode, actor.thread, actor.device, static_cast<int>(stream - captures_.streams.data())});
  return nullptr;
}
void Reference::refuse(const calls::StreamBeginCapture&, CUresult answer, Actor actor) {
  if (answer == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) lose_all(false, actor);
}

bool Reference::joined(const CaptureState::Capture& capture) const {
  std::vector<bool> seen(capture.nodes.size());
  for (const int node : captures_.streams[static_cast<std::size_t>(capture.origin)].front) {
    CaptureState::mark(capture.nodes, node, seen);
  }
  return std::find(seen.begin(), seen.end(), false) == seen.end();
}

Judgement Reference::judge(const calls::StreamEndCapture& call, Actor actor) const {
  Judgement out;
  const CaptureState::Stream* stream = judge_stream(out, call.hStream, actor);
  if (!stream) return out;
  const CaptureState::Capture* capture = captures_.of(*stream);
  if (!capture) {
    out.demand(CUDA_ERROR_ILLEGAL_STATE);
    return out;
  }
  // No document says which of several reasons counts.
  const int index = static_cast<int>(stream - captures_.streams.data());
  if (capture->origin != index) out.demand(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != actor.thread) {
    out.demand(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  }
  if (!joined(*capture)) out.demand(CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  if (capture->health == Health::kLost) out.demand(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  if (capture->health == Health::kDoubt) out.loose = true;
  return out;
}
const char* Reference::accept(const calls::StreamEndCapture& call) {
  const CaptureState::Stream* stream = captures_.find(captures_.streams, call.hStream);
  const CaptureState::Capture& capture = *captures_.of(*stream);
  const bool known = capture.health == Health::kActive;
  captures_.graphs.push_back(
      {reinterpret_cast<std::uint64_t>(*call.phGraph), capture.device, capture.nodes, known});
  captures_.finish(stream->capture);
  return *call.phGraph ? nullptr : "the capture succeeded without a graph";
}
void Reference::refuse(const calls::StreamEndCapture& call, CUresult answer, Actor) {
  const CaptureState::Stream* stream = captures_.find(captures_.streams, call.hStream);
  const bool ends = answer == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED ||
                    answer == CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  if (!stream || stream->capture < 0) return;
  if (ends) captures_.finish(stream->capture);
  // No document says what becomes of the capture.
  if (answer == CUDA_ERROR_STREAM_CAPTURE_UNMATCHED) {
    captures_.captures[static_cast<std::size_t>(stream->capture)].health = Health::kDoubt;
  }
}

}  // namespace cuvmm::fuzz
