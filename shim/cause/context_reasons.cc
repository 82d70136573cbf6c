// SPDX-License-Identifier: Apache-2.0
#include "shim/cause/context_reasons.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "api/posix/cancel_off.h"
#include "api/words.h"
#include "rulebook/memory/check_ended.h"
#include "shim/objects/object_table.h"
#include "shim/session/session_run.h"

namespace cuvmm::shim {

namespace {

using Kind = GivenArgument::Kind;
using Reason = std::optional<std::string>;

std::string with_fix(const std::string& reason, std::string_view fix) {
  return reason + ". Fix: " + std::string(fix);
}

std::uint64_t value_of(const RefusedCall& call, PlainObject::Kind object) {
  for (const GivenArgument& one : call.given) {
    if (one.object == object && one.value != 0) return one.value;
  }
  return 0;
}

bool is_memory_node(const Questions& ask, CUgraphNode node) {
  CUgraphNodeType type{};
  return ask.node_type && ask.node_type(node, &type) == CUDA_SUCCESS &&
         (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || type == CU_GRAPH_NODE_TYPE_MEM_FREE);
}

bool has_memory_nodes(const Questions& ask, CUgraph graph) {
  std::size_t count = 0;
  if (!ask.graph_nodes || ask.graph_nodes(graph, nullptr, &count) != CUDA_SUCCESS) return false;
  std::vector<CUgraphNode> nodes(count);
  if (count == 0 || ask.graph_nodes(graph, nodes.data(), &count) != CUDA_SUCCESS) return false;
  nodes.resize(std::min(count, nodes.size()));
  for (CUgraphNode node : nodes) {
    if (is_memory_node(ask, node)) return true;
  }
  return false;
}

template <class Handle>
Handle handle_of(std::uint64_t value) {
  return reinterpret_cast<Handle>(static_cast<std::uintptr_t>(value));
}

// -1: unknown. Before CUDA 13.0, only the current context can be asked for its device.
int device_of(const Driver& driver, CUcontext context) {
  const CancelOff no_cancel;
  CUdevice device = -1;
  if (driver(calls::CtxPushCurrent{context}) != CUDA_SUCCESS) return -1;
  if (driver(calls::CtxGetDevice{&device}) != CUDA_SUCCESS) device = -1;
  CUcontext popped = nullptr;
  driver(calls::CtxPopCurrent{&popped});
  return device;
}

// The context of a stream; a default stream is one of the current context.
CUcontext context_of(const Questions& ask, std::uint64_t stream) {
  constexpr std::uint64_t kLastDefaultStream = 2;
  CUcontext context = nullptr;
  const CUresult result =
      stream <= kLastDefaultStream
          ? (ask.context ? ask.context(&context) : CUDA_ERROR_UNKNOWN)
          : (ask.stream_context ? ask.stream_context(handle_of<CUstream>(stream), &context)
                                : CUDA_ERROR_UNKNOWN);
  return result == CUDA_SUCCESS ? context : nullptr;
}

std::string context_text(const Driver& driver, CUcontext context) {
  const int device = device_of(driver, context);
  const std::string name = hex_text(reinterpret_cast<std::uintptr_t>(context));
  return "context " + name + (device < 0 ? "" : " of device " + std::to_string(device));
}

Reason own_peer(const Questions& ask, const RefusedCall& call) {
  const auto peer = handle_of<CUcontext>(value_of(call, PlainObject::Kind::kContext));
  CUcontext current = nullptr;
  if (!peer && call.result == CUDA_ERROR_INVALID_CONTEXT) {
    return with_fix("the context is NULL, and the call needs the context of the other device",
                    "pass a context of another device than the current context's, for example the "
                    "primary context of that device (cuDevicePrimaryCtxRetain)");
  }
  if (!peer || !ask.context || ask.context(&current) != CUDA_SUCCESS || peer != current)
    return std::nullopt;
  return with_fix(
      "the context is the current one, which reaches its own memory without peer access",
      "leave the call out for the current context's own device, and pass contexts of "
      "other devices only");
}

// A fill runs on the device of its stream.
Reason fill_elsewhere(const Driver& driver, const Questions& ask, const RefusedCall& call,
                      std::uint64_t stream) {
  CUcontext current = nullptr;
  CUcontext context = context_of(ask, stream);
  if (!context || !ask.context || ask.context(&current) != CUDA_SUCCESS) return std::nullopt;
  const int device = device_of(driver, context);
  for (const GivenArgument& one : call.given) {
    if (one.kind != Kind::kAddress || one.value == 0) continue;
    int owner = -1;
    if (driver(calls::PointerGetAttribute{&owner, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                          one.value}) != CUDA_SUCCESS ||
        owner < 0 || device < 0 || owner == device)
      continue;
    return with_fix("stream " + hex_text(stream) + " is one of " + context_text(driver, context) +
                        ", and " + one.name + " " + hex_text(one.value) + " is memory of device " +
                        std::to_string(owner) +
                        ": a fill runs on the device of its stream, and fills memory of that "
                        "device",
                    "fill on a stream that was created while a context of device " +
                        std::to_string(owner) + " was current");
  }
  return std::nullopt;
}

Reason stream_elsewhere(const Driver& driver, const Questions& ask, std::uint64_t stream) {
  constexpr std::uint64_t kLastDefaultStream = 2;
  CUcontext current = nullptr;
  if (stream <= kLastDefaultStream || !ask.context || ask.context(&current) != CUDA_SUCCESS)
    return std::nullopt;
  CUcontext context = context_of(ask, stream);
  if (!context || !current || context == current) return std::nullopt;
  return with_fix("stream " + hex_text(stream) + " is one of " + context_text(driver, context) +
                      ", and the current context is " + context_text(driver, current),
                  "make the stream's context current first (cuCtxSetCurrent, cudaSetDevice), or "
                  "pass a stream that was created in the current context");
}

}  // namespace

Violations recorded_elsewhere(const Driver& driver, const Questions& ask, CUevent event,
                              CUstream stream) {
  // The questions are no calls of the program.
  const Caller caller{};
  const Violations none;
  const Origin unknown;
  InFlight asking{nullptr, [](const void*) { return Call(); }, &none, &unknown, caller};
  std::optional<InFlightScope> scope;
  if (!in_flight()) scope.emplace(asking);
  const auto handle = reinterpret_cast<std::uintptr_t>(event);
  const auto known = object_table().find_event(handle);
  CUcontext context = context_of(ask, reinterpret_cast<std::uintptr_t>(stream));
  if (!known || known->context == 0 || !context) return {};
  EventRecorded one;
  one.event = {.kind = ObjectRef::Kind::kEvent,
               .value = handle,
               .made = {.stack = known->made},
               .ended = {}};
  one.event_context = known->context;
  one.stream_context = reinterpret_cast<std::uintptr_t>(context);
  one.event_device = device_of(driver, handle_of<CUcontext>(known->context));
  one.stream_device = device_of(driver, context);
  return check_event_context(one);
}

Reason by_memory_nodes(const Questions& ask, const RefusedCall& call) {
  if (call.result != CUDA_ERROR_NOT_SUPPORTED && call.result != CUDA_ERROR_INVALID_VALUE)
    return std::nullopt;
  const std::string_view function = call.function;
  if (function.starts_with("cuGraphDestroyNode")) {
    const auto node = handle_of<CUgraphNode>(value_of(call, PlainObject::Kind::kNode));
    if (!node || !is_memory_node(ask, node)) return std::nullopt;
    return with_fix("the node allocates or frees memory, and such a node stays in its graph",
                    "build the graph again without the node");
  }
  const bool instantiates = function.starts_with("cuGraphInstantiate");
  const bool clones = function.starts_with("cuGraphClone");
  if (!instantiates && !clones) return std::nullopt;
  const auto graph = handle_of<CUgraph>(value_of(call, PlainObject::Kind::kGraph));
  if (!graph || !has_memory_nodes(ask, graph)) return std::nullopt;
  const std::string owns = "graph " + hex_text(reinterpret_cast<std::uintptr_t>(graph)) +
                           " has nodes that allocate or free memory, and such a graph ";
  if (clones) {
    return with_fix(owns + "cannot be cloned",
                    "build or capture the graph a second time, or allocate the memory before the "
                    "capture, so that the graph only uses it");
  }
  if (call.result != CUDA_ERROR_NOT_SUPPORTED) return std::nullopt;
  return with_fix(owns + "has at most one executable graph at a time",
                  "launch the executable graph that exists, or destroy it first "
                  "(cuGraphExecDestroy), or capture the work once more for a second one");
}

Reason by_contexts(const Driver& driver, const Questions& ask, const RefusedCall& call) {
  const std::string_view function = call.function;
  if (function.starts_with("cuCtxEnablePeerAccess")) return own_peer(ask, call);
  for (const GivenArgument& one : call.given) {
    if (one.kind != Kind::kStream) continue;
    if (function.starts_with("cuMemset")) {
      if (Reason reason = fill_elsewhere(driver, ask, call, one.value)) return reason;
    } else if (function.starts_with("cuLaunch") && call.result != CUDA_ERROR_INVALID_VALUE) {
      return stream_elsewhere(driver, ask, one.value);
    }
  }
  return std::nullopt;
}

}  // namespace cuvmm::shim
