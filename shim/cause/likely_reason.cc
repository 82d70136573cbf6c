// SPDX-License-Identifier: Apache-2.0
#include "shim/cause/likely_reason.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/words.h"
#include "shim/cause/context_reasons.h"
#include "shim/facts/host_memory.h"
#include "shim/objects/object_table.h"
#include "shim/refusals/arguments/described.h"
#include "shim/refusals/captures.h"
#include "shim/session/session.h"

namespace cuvmm::shim {

namespace {

using Kind = GivenArgument::Kind;
using Given = std::vector<GivenArgument>;
using Reason = std::optional<std::string>;

std::string with_fix(const std::string& reason, std::string_view fix) {
  return reason + ". Fix: " + std::string(fix);
}

struct KnownCode {
  CUresult code;
  std::string_view function;  ///< the begin of its name; empty: any
  const char* reason;
};
constexpr KnownCode kKnownCodes[] = {
    {CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "",
     "another stream joined the capture (by cuStreamWaitEvent), and the stream that began the "
     "capture does not wait for its last work. Fix: record an event on the other stream behind its "
     "work, and let the first stream wait for that event (cuStreamWaitEvent) before "
     "cuStreamEndCapture"},
    {CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "",
     "this stream joined the capture, and another stream began it. Fix: call cuStreamEndCapture "
     "with the stream of cuStreamBeginCapture"},
    {CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "",
     "another thread began the capture, and not in relaxed mode. Fix: end the capture in the "
     "thread that began it, or begin it in relaxed mode"},
    {CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "",
     "the stream captures, and the event was recorded outside of the capture, which ends the "
     "capture. Fix: wait for the event before the capture begins, or record the event on a stream "
     "of the same capture"},
    {CUDA_ERROR_STREAM_CAPTURE_MERGE, "",
     "the event belongs to another capture than the stream, which ends both captures. Fix: "
     "capture "
     "both streams in one capture, or end one capture before the other begins"},
    {CUDA_ERROR_ILLEGAL_STATE, "cuStreamBeginCapture",
     "the stream captures already. Fix: end its capture first (cuStreamEndCapture), or capture "
     "on "
     "another stream"},
    {CUDA_ERROR_ILLEGAL_STATE, "cuStreamEndCapture",
     "the stream does not capture: no capture began on it, or the capture has ended. Fix: end "
     "each "
     "capture once, with the stream of cuStreamBeginCapture"},
    {CUDA_ERROR_INVALID_DEVICE, "cuDeviceGetByPCIBusId",
     "no device that this process sees has this bus id. Fix: pass an id as cuDeviceGetPCIBusId "
     "and "
     "nvidia-smi write it (domain:bus:device.function), of a device that CUDA_VISIBLE_DEVICES "
     "does "
     "not hide"},
    {CUDA_ERROR_UNSUPPORTED_LIMIT, "",
     "the device has no such limit. Fix: pass another enumerator of CUlimit, or go on without "
     "the "
     "limit"},
    {CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "",
     "the two devices cannot reach each other's memory. Fix: ask cuDeviceCanAccessPeer first, "
     "and "
     "copy by cuMemcpyPeer where it says no"},
    {CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "",
     "peer access was never enabled from the current context to that one. Fix: call "
     "cuCtxEnablePeerAccess once before each cuCtxDisablePeerAccess"},
};

Reason by_code(std::string_view function, CUresult result) {
  for (const KnownCode& one : kKnownCodes) {
    if (one.code == result && function.starts_with(one.function)) return one.reason;
  }
  return std::nullopt;
}

// Codes by which drivers refuse an argument.
bool about_an_argument(CUresult result) {
  constexpr CUresult kThese[] = {CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_HANDLE,
                                 CUDA_ERROR_INVALID_DEVICE, CUDA_ERROR_INVALID_CONTEXT,
                                 CUDA_ERROR_NOT_FOUND};
  return std::ranges::find(kThese, result) != std::end(kThese);
}

Reason by_device(const Driver& driver, const GivenArgument& one) {
  int count = 0;
  if (driver(calls::DeviceGetCount{&count}) != CUDA_SUCCESS || count < 1) return std::nullopt;
  const auto ordinal = static_cast<std::int64_t>(one.value);
  const bool host = ordinal == CU_DEVICE_CPU && one.name == "dstDevice";  // of a prefetch
  if (host || (ordinal >= 0 && ordinal < count)) return std::nullopt;
  const std::string devices =
      count == 1 ? "1 device, 0"
                 : std::to_string(count) + " devices, 0 to " + std::to_string(count - 1);
  return with_fix(
      one.name + " is " + std::to_string(ordinal) + ", and this process sees " + devices,
      "pass an ordinal below the count of cuDeviceGetCount. An ordinal that another "
      "process or machine sent means another device here: send the device's UUID "
      "(cuDeviceGetUuid) instead, or stay on the current device");
}

// NULL stands for the current context, or for nothing to write.
bool may_be_null(std::string_view function, const GivenArgument& one) {
  if (one.object == PlainObject::Kind::kContext)
    return function.starts_with("cuMemcpy") || function.starts_with("cuGraph");
  return one.kind == Kind::kOut && function.starts_with("cuMemGetAddressRange");
}

std::string an_object(PlainObject::Kind kind) {
  if (kind == PlainObject::Kind::kCount) return "an object";
  const std::string word = words(kind);
  const bool vowel = word.find_first_of("aeiou") == 0;
  return (vowel ? "an " : "a ") + word;
}

Reason by_null(const GivenArgument& one, bool first) {
  if (one.value != 0) return std::nullopt;
  switch (one.kind) {
    case Kind::kHandle:
      if (one.object == PlainObject::Kind::kContext) {
        return with_fix(one.name + " is NULL, and the call needs a context",
                        "pass a context, for example a device's primary context "
                        "(cuDevicePrimaryCtxRetain)");
      }
      return with_fix(
          one.name + " is NULL, and the call needs " + an_object(one.object),
          "pass the handle that the making call returned, and check that call's result");
    case Kind::kOut:
      if (!first) return std::nullopt;
      return with_fix(one.name + " is NULL, and the call writes its result there",
                      "pass the address of a variable");
    case Kind::kHost:
      return with_fix(one.name + " is NULL, and no memory of the host lies there",
                      "pass the address of host memory, and check the result of its allocation");
    case Kind::kAddress:
      return with_fix(one.name + " is NULL (0), and no memory of a device lies there",
                      "pass the address that an allocating call returned, and check that call's "
                      "result");
    default:
      return std::nullopt;
  }
}

struct KnownFlags {
  std::string_view function;
  std::uint64_t known;
  const char* names;
};
constexpr KnownFlags kKnownFlags[] = {
    {"cuStreamCreate", 0x1, "0 and CU_STREAM_NON_BLOCKING"},
    {"cuEventCreate", 0x7,
     "CU_EVENT_BLOCKING_SYNC, CU_EVENT_DISABLE_TIMING and CU_EVENT_INTERPROCESS"},
    {"cuEventRecordWithFlags", 0x1, "0 and CU_EVENT_RECORD_EXTERNAL"},
    {"cuStreamWaitEvent", 0x1, "0 and CU_EVENT_WAIT_EXTERNAL"},
    {"cuCtxEnablePeerAccess", 0, "0"},
    {"cuGraphCreate", 0, "0"},
    {"cuMemHostGetDevicePointer", 0, "0"},
    {"cuStreamAddCallback", 0, "0"},
};

Reason by_flags(std::string_view function, const GivenArgument& one) {
  const auto known = std::ranges::find_if(kKnownFlags, [&](const KnownFlags& each) {
    return function == each.function || (function.starts_with(each.function) &&
                                         function.substr(each.function.size()).starts_with("_v"));
  });
  if (known == std::end(kKnownFlags)) return std::nullopt;
  if ((one.value & ~known->known) != 0) {
    return with_fix(one.name + " is " + hex_text(one.value) + ", and " +
                        hex_text(one.value & ~known->known) + " is no flag of this function",
                    "pass the flags of this function: " + std::string(known->names));
  }
  const bool shared =
      known->function == "cuEventCreate" && (one.value & CU_EVENT_INTERPROCESS) != 0;
  if (shared && (one.value & CU_EVENT_DISABLE_TIMING) == 0) {
    return with_fix(one.name + " has CU_EVENT_INTERPROCESS without CU_EVENT_DISABLE_TIMING",
                    "pass both: an event that processes share has no time");
  }
  return std::nullopt;
}

Reason by_handle(const GivenArgument& one) {
  using Object = PlainObject::Kind;
  const bool followed = one.object == Object::kStream || one.object == Object::kEvent ||
                        one.object == Object::kExecutableGraph;
  constexpr std::uint64_t kLastDefaultStream = 2;
  if (!followed || one.value <= kLastDefaultStream) return std::nullopt;
  if (object_table().is_alive(one.object, one.value)) return std::nullopt;
  return with_fix(one.name + " is " + hex_text(one.value) + ", and cuvmm saw no call that made " +
                      words(one.object) + " " + hex_text(one.value),
                  "pass a handle that the making call returned in this process, and set variables "
                  "before they are used");
}

// A launch that no device can run.
Reason by_dimensions(const Given& given) {
  std::uint64_t threads = 1;
  for (const GivenArgument& one : given) {
    const bool block = one.name.starts_with("blockDim");
    if (!block && !one.name.starts_with("gridDim")) continue;
    if (one.value == 0) {
      return with_fix(one.name + " is 0, and a launch has a block and a thread in each dimension",
                      "pass 1 for a dimension that is not used, and leave the launch out where "
                      "there is no work");
    }
    if (block) threads *= one.value;
  }
  constexpr std::uint64_t kMostThreads = 1024;
  if (threads <= kMostThreads) return std::nullopt;
  return with_fix("the block has " + std::to_string(threads) +
                      " threads, and a device runs at most "
                      "1024",
                  "launch more and smaller blocks");
}

// The driver itself says which of the two events has no time: an event and itself are 0 ms apart.
Reason by_events(const Driver& driver, const Given& given) {
  for (const GivenArgument& one : given) {
    if (one.object != PlainObject::Kind::kEvent || one.value == 0) continue;
    const auto event = reinterpret_cast<CUevent>(static_cast<std::uintptr_t>(one.value));
    float time = 0;
    if (driver(calls::EventElapsedTime{&time, event, event}) != CUDA_ERROR_INVALID_HANDLE) continue;
    const auto flags = object_table().flags_of_event(one.value);
    const std::string named = one.name + ": event " + hex_text(one.value);
    if (flags && (*flags & CU_EVENT_DISABLE_TIMING) != 0) {
      return with_fix(named + " was made with CU_EVENT_DISABLE_TIMING, and has no time",
                      "make events that are timed without this flag");
    }
    if (!flags) {
      return with_fix(named + " was never recorded, or was made with CU_EVENT_DISABLE_TIMING",
                      "record both events (cuEventRecord) before the call, and make them without "
                      "that flag");
    }
    return with_fix(named + " was never recorded",
                    "record both events on a stream (cuEventRecord) around the work, and wait for "
                    "the second one (cuEventSynchronize) before the call");
  }
  return std::nullopt;
}

// Addresses of a copy or fill that are no memory of a device.
Reason by_address(const Questions& ask, const GivenArgument& one) {
  if (one.kind != Kind::kAddress || one.value == 0 || !ask.pointer_attributes) return std::nullopt;
  unsigned type = 0;
  auto which = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
  void* place = &type;
  if (ask.pointer_attributes(1, &which, &place, one.value) != CUDA_SUCCESS || type != 0)
    return std::nullopt;
  if (host_can_read(one.value)) {
    return with_fix(one.name + " is " + one.text +
                        ", which is ordinary memory of the host, and the "
                        "call needs memory of a device",
                    "pass memory that the driver allocated. If source and destination changed "
                    "places, swap them; cuMemcpy takes any registered or managed memory");
  }
  return with_fix(one.name + " is " + one.text +
                      ", and the driver knows no memory there: none was "
                      "allocated at this address, or it has ended",
                  "pass an address that an allocating call returned, before its memory is freed");
}

// A captured free is a node, and frees memory that a node of this or another graph allocates.
Reason by_captured_free(const Questions& ask, const RefusedCall& call) {
  if (call.function != "cuMemFreeAsync" || call.result != CUDA_ERROR_INVALID_VALUE)
    return std::nullopt;
  for (const GivenArgument& one : call.given) {
    if (one.kind != Kind::kStream || !takes_part_in_capture(ask, one.value)) continue;
    return with_fix("stream " + one.text +
                        " captures, and a captured free frees only memory that an allocation node "
                        "of a graph gives, once: this memory was allocated outside of graphs, or "
                        "the capture frees it already",
                    "free the memory outside of the capture, behind the last launch of the graph "
                    "that uses it; or allocate it in the capture too (cuMemAllocAsync on the "
                    "capturing stream)");
  }
  return std::nullopt;
}

// Arguments that the driver refuses if nothing else is wrong.
Reason by_number(const GivenArgument& one) {
  const bool size = one.kind == Kind::kSize || one.name == "size";
  if (size && one.value == 0) {
    return with_fix(one.name + " is 0",
                    "pass the size, or leave the call out where there is "
                    "nothing to do");
  }
  if (one.name != "attribute" && one.name != "attrib") return std::nullopt;
  return with_fix(one.name + " is " + one.text + ", which this driver may not know",
                  "pass an enumerator that the driver's version has, and treat the code as \"not "
                  "supported\"");
}

}  // namespace

std::string likely_reason(const Driver& driver, const Questions& ask, const RefusedCall& call) {
  std::string sentence;
  const auto add = [&](Reason reason) {
    if (reason && sentence.empty()) sentence = std::move(*reason);
  };
  add(by_code(call.function, call.result));
  add(by_memory_nodes(ask, call));
  if (sentence.empty() && about_an_argument(call.result)) {
    add(by_contexts(driver, ask, call));
    for (const GivenArgument& one : call.given) {
      if (one.kind == Kind::kDevice) add(by_device(driver, one));
      if (!may_be_null(call.function, one)) add(by_null(one, &one == call.given.data()));
      if (one.kind == Kind::kFlags) add(by_flags(call.function, one));
    }
    add(by_dimensions(call.given));
    add(by_captured_free(ask, call));
    if (call.function.starts_with("cuEventElapsedTime")) add(by_events(driver, call.given));
    for (const GivenArgument& one : call.given) {
      // Drivers refuse an unknown handle so.
      const bool graph = one.object == PlainObject::Kind::kExecutableGraph;
      const CUresult code = graph ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
      if (call.result == code) add(by_handle(one));
    }
    const bool transfer =
        call.function.starts_with("cuMemcpy") || call.function.starts_with("cuMemset");
    for (const GivenArgument& one : call.given) {
      if (transfer && call.result == CUDA_ERROR_INVALID_VALUE) add(by_address(ask, one));
    }
    for (const GivenArgument& one : call.given) {
      if (call.result == CUDA_ERROR_INVALID_VALUE) add(by_number(one));
    }
  }
  CUcontext context = nullptr;
  const bool lacks_context = call.result == CUDA_ERROR_INVALID_CONTEXT && sentence.empty() &&
                             ask.context && ask.context(&context) == CUDA_SUCCESS && !context;
  if (lacks_context) {
    sentence =
        with_fix("no context is current to this thread",
                 "make one current first: by cuCtxSetCurrent, or by a call of the CUDA runtime "
                 "such as cudaSetDevice");
  }
  return sentence;
}

void Session::describe_refusal(std::string_view function, CUresult result,
                               const std::vector<GivenArgument>& given) noexcept {
  if (!says_something(result) || off()) return;
  const int entry_errno = errno;
  try {
    if (described_refusals().knows(function, result)) return;
    DescribedRefusals::Description description;
    for (const GivenArgument& one : given) description.arguments.emplace_back(one.name, one.text);
    std::string reason;
    {
      // The questions are no calls of the program.
      const Caller caller{};
      const Violations none;
      const Origin unknown;
      InFlight asking{nullptr, [](const void*) { return Call(); }, &none, &unknown, caller};
      std::optional<InFlightScope> scope;
      if (!in_flight()) scope.emplace(asking);
      reason = likely_reason(driver_, work_.questions(), {function, result, given});
    }
    if (!reason.empty()) description.reasons.push_back(std::move(reason));
    described_refusals().add(function, result, description);
  } catch (...) {
    turn_off();
  }
  errno = entry_errno;
}

}  // namespace cuvmm::shim
