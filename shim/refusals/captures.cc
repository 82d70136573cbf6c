// SPDX-License-Identifier: Apache-2.0
#include "shim/refusals/captures.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <string>
#include <utility>

#include "api/visit_call.h"
#include "api/words.h"

namespace cuvmm::shim {

namespace {

constexpr std::uint64_t kLegacyStream = 1, kPerThreadStream = 2;

bool is_legacy(std::uint64_t stream) { return stream <= kLegacyStream; }

std::uint64_t named_stream(const Call& call) {
  return visit_call<std::uint64_t>(call, [](const auto& made) -> std::uint64_t {
    if constexpr (requires { made.hStream; }) {
      return reinterpret_cast<std::uintptr_t>(made.hStream);
    } else if constexpr (requires { made.stream; }) {
      return reinterpret_cast<std::uintptr_t>(made.stream);
    } else {
      return 0;
    }
  });
}

const char* words(CUstreamCaptureMode mode) {
  switch (mode) {
    case CU_STREAM_CAPTURE_MODE_THREAD_LOCAL:
      return "thread-local";
    case CU_STREAM_CAPTURE_MODE_RELAXED:
      return "relaxed";
    default:
      return "global";
  }
}

bool is_one_of(EntryPoint entry, std::initializer_list<EntryPoint> these) {
  return std::ranges::find(these, entry) != these.end();
}

/// The way in which a capture forbids a call.
enum class Forbids {
  kMode,      ///< a capture in relaxed mode permits the call
  kLegacy,    ///< the legacy default stream would wait for the capturing stream
  kDefault,   ///< the legacy default stream cannot be captured
  kWait,      ///< nothing can wait for captured work, or query it
  kContext,   ///< as kWait, for all work of a context
  kProperty,  ///< the driver answers no question about the stream
  kNode,      ///< the work cannot become a node
};

Forbids way_of(EntryPoint entry, CUresult result, std::uint64_t stream, bool captures) {
  using enum EntryPoint;
  if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return Forbids::kLegacy;
  if (is_one_of(entry, {kCtxSynchronize, kCtxSynchronize_v2})) return Forbids::kContext;
  const bool begins = is_one_of(entry, {kStreamBeginCapture, kStreamBeginCaptureToGraph});
  if (begins && is_legacy(stream)) return Forbids::kDefault;
  if (!captures) return Forbids::kMode;
  if (is_one_of(entry, {kStreamSynchronize, kStreamQuery})) return Forbids::kWait;
  return entry == kCount ? Forbids::kProperty : Forbids::kNode;
}

Rule rule_of(Forbids way) {
  switch (way) {
    case Forbids::kLegacy:
      return Rule::kStreamCaptureLegacy;
    case Forbids::kDefault:
      return Rule::kStreamCaptureDefault;
    case Forbids::kWait:
    case Forbids::kContext:
    case Forbids::kProperty:
      return Rule::kStreamCaptureWait;
    case Forbids::kNode:
      return Rule::kStreamCaptureNode;
    default:
      return Rule::kStreamCapture;
  }
}

const char* reason(Forbids way) {
  switch (way) {
    case Forbids::kLegacy:
      return ", and the legacy default stream would wait for it: this call ends the capture";
    case Forbids::kWait:
      return ". Its work is recorded and does not run, so no call can wait for it or query it, "
             "whatever the capture's mode: the call ends the capture";
    case Forbids::kContext:
      return ". Its work is recorded and does not run, so no call can wait for all work of the "
             "context, whatever the capture's mode: the call ends the capture";
    case Forbids::kProperty:
      return ", and the driver does not answer this question about a capturing stream, whatever "
             "the capture's mode: the call ends the capture";
    case Forbids::kNode:
      return ", and this call cannot become a node of its graph, whatever the capture's mode: the "
             "call ends the capture";
    default:
      return ", which forbids this call: the call ends the capture";
  }
}

// Empty if the rule's own repair fits.
std::string fix_for(Forbids way, EntryPoint entry, const std::optional<Causes::Capture>& capture,
                    std::uint32_t thread) {
  using enum EntryPoint;
  switch (way) {
    case Forbids::kMode:
      if (!capture || capture->thread == thread) return {};
      return "Make the call before the capture or after its end. If it does not depend on captured "
             "work, put the thread into thread-local or relaxed mode around it "
             "(cuThreadExchangeStreamCaptureMode), or begin the capture in thread-local or relaxed "
             "mode.";
    case Forbids::kLegacy:
      if (!is_one_of(entry, {kStreamSynchronize, kStreamQuery})) return {};
      return "Make the call before the capture begins or after its end (cuStreamEndCapture), or "
             "wait for a stream of CU_STREAM_NON_BLOCKING instead, with the thread in relaxed mode "
             "(cuThreadExchangeStreamCaptureMode).";
    case Forbids::kContext:
      return "Call cuCtxSynchronize before the capture begins or after its end "
             "(cuStreamEndCapture). During the capture, wait only for work that is not captured: "
             "by cuStreamSynchronize or cuEventSynchronize of a stream that does not capture, with "
             "the thread in relaxed mode (cuThreadExchangeStreamCaptureMode).";
    case Forbids::kProperty:
      return "Ask before the capture begins or after its end. cuStreamIsCapturing and "
             "cuStreamGetCaptureInfo are permitted during it.";
    case Forbids::kNode:
      if (entry == kStreamAddCallback) {
        return "Call cuLaunchHostFunc, which becomes a node of the graph, or make the call before "
               "the capture begins or after its end.";
      }
      if (is_one_of(entry, {kGraphLaunch, kGraphUpload})) {
        return "Launch the graph before the capture begins or after its end. To run it as a part "
               "of the captured graph, capture its work again, or add the graph that it was made "
               "from as a child (cuGraphAddChildGraphNode).";
      }
      return {};
    default:
      return {};
  }
}

}  // namespace

bool forbidden_by_capture(CUresult result) {
  return result == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED ||
         result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

std::uint64_t stream_of_call(const Call& call, bool per_thread) {
  const std::uint64_t stream = named_stream(call);
  return stream == 0 && per_thread ? kPerThreadStream : stream;
}

bool takes_part_in_capture(const Questions& ask, std::uint64_t stream) {
  if (is_legacy(stream) || !ask.is_capturing) return false;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult result = ask.is_capturing(reinterpret_cast<CUstream>(stream), &status);
  return result == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

CUgraphNode captured_node(const Questions& ask, std::uint64_t stream) {
  if (is_legacy(stream)) return nullptr;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUgraphNode* nodes = nullptr;
  std::size_t count = 0;
  const auto handle = reinterpret_cast<CUstream>(stream);
  const bool answered =
      (ask.capture_nodes &&
       ask.capture_nodes(handle, &status, nullptr, nullptr, &nodes, &count) == CUDA_SUCCESS) ||
      (ask.capture_edges && ask.capture_edges(handle, &status, nullptr, nullptr, &nodes, nullptr,
                                              &count) == CUDA_SUCCESS);
  const bool active = answered && status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return active && count == 1 && nodes ? nodes[0] : nullptr;
}

Violation forbidden(const Causes& causes, const ForbiddenCall& call) {
  const auto began = causes.began_on(call.stream, call.thread);
  const Forbids way = way_of(call.entry, call.result, call.stream, call.takes_part || began);
  Violation v{rule_of(way), true, {}, {}};
  if (way == Forbids::kDefault) {
    v.message = "hStream: the legacy default stream cannot be captured";
    return v;
  }
  const bool joined = call.takes_part && !began;
  std::optional<Causes::Capture> capture = began;
  if (!began && way == Forbids::kMode) capture = causes.forbids(call.thread);
  // Of several captures, a stream that joined one may belong to any of them.
  if (!began && way != Forbids::kMode && (!joined || causes.is_alone())) capture = causes.newest();
  if (capture) {
    v.message = "stream " + hex_text(capture->stream) + " captures in " + words(capture->mode) +
                " mode since call " + std::to_string(capture->begun.call);
    if (joined) v.message += ", and stream " + hex_text(call.stream) + " has joined the capture";
    v.objects.push_back({.kind = ObjectRef::Kind::kCapture,
                         .value = capture->stream,
                         .made = capture->begun,
                         .ended = {}});
  } else if (joined) {
    v.message = "stream " + hex_text(call.stream) + " takes part in a capture";
  } else {
    v.message = "a stream captures since a call that cuvmm did not see";
  }
  v.message += reason(way);
  v.fix = fix_for(way, call.entry, capture, call.thread);
  return v;
}

std::optional<Violation> captured_event(const Causes& causes, const Call& call, CUresult result) {
  constexpr CUresult kCodes[] = {CUDA_ERROR_CAPTURED_EVENT, CUDA_ERROR_INVALID_VALUE,
                                 CUDA_ERROR_INVALID_HANDLE};
  if (std::ranges::find(kCodes, result) == std::end(kCodes)) return std::nullopt;
  CUevent named[2] = {};
  if (const auto* query = call.as<calls::EventQuery>()) named[0] = query->hEvent;
  if (const auto* wait = call.as<calls::EventSynchronize>()) named[0] = wait->hEvent;
  if (const auto* between = call.as<calls::EventElapsedTime>()) {
    named[0] = between->hStart;
    named[1] = between->hEnd;
  }
  for (CUevent event : named) {
    const auto key = reinterpret_cast<std::uintptr_t>(event);
    const Origin at = causes.recorded_in_capture(key);
    const bool answered = result == CUDA_ERROR_CAPTURED_EVENT && event == named[0];
    if (!event || (at.call == 0 && !answered)) continue;
    Violation v{Rule::kStreamCaptureEvent, true, {}, {}};
    v.message = "event " + hex_text(key) + " was last recorded by a capturing stream";
    if (at.call != 0) {
      v.message += ", in call " + std::to_string(at.call);
      v.objects.push_back(
          {.kind = ObjectRef::Kind::kCapturedEvent, .value = key, .made = at, .ended = {}});
    }
    v.message +=
        ": it stands for a place in the captured graph, which the host can neither wait "
        "for nor query, whatever the capture's mode";
    if (result == CUDA_ERROR_CAPTURED_EVENT) v.message += ". The call ends the capture";
    return v;
  }
  return std::nullopt;
}

}  // namespace cuvmm::shim
