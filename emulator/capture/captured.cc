// SPDX-License-Identifier: Apache-2.0
#include "emulator/capture/captured.h"

#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "api/location.h"
#include "emulator/capture/graph_allocation.h"

namespace cuvmm::emulator {

namespace {

std::shared_ptr<GraphNode> node(CUgraphNodeType type, std::function<CUresult(Emulator&)> run) {
  auto made = std::make_shared<GraphNode>();
  made->type = type;
  made->run = std::move(run);
  return made;
}

// The answer to a call on a stream that does not capture while another stream may: captures can
// forbid work on the legacy stream, and allocations.
std::optional<CUresult> beside_capture(Emulator& e, CUstream stream) {
  CUresult refused = CUDA_SUCCESS;
  if (reinterpret_cast<std::uintptr_t>(stream) <= 1) refused = e.captures.refuse_legacy();
  if (refused == CUDA_SUCCESS) refused = e.captures.refuse_unsafe();
  return refused == CUDA_SUCCESS ? std::nullopt : std::optional(refused);
}

}  // namespace

std::optional<CUresult> captured_allocation(Emulator& e, CUdeviceptr* out, std::size_t size,
                                            const Pool& pool, CUstream stream) {
  Capture* capture = e.captures.of(stream);
  if (!capture) return beside_capture(e, stream);
  if (capture->invalid()) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!out || size == 0) return CUDA_ERROR_INVALID_VALUE;
  // A pool that can be exported, or that is on the host, has no allocation nodes.
  const bool plain = is_device(pool.prop().location) &&
                     static_cast<unsigned>(pool.prop().requestedHandleTypes) == 0;
  if (!plain) return CUDA_ERROR_NOT_SUPPORTED;
  const auto memory =
      memory_for(e, capture->nodes(), capture->ends(Captures::key(stream)), size, pool);
  if (!memory) return CUDA_ERROR_OUT_OF_MEMORY;
  const Address base = memory->base();
  auto made =
      node(CU_GRAPH_NODE_TYPE_MEM_ALLOC, [memory](Emulator& at) { return allocate(at, *memory); });
  made->memory = memory;
  CUDA_MEM_ALLOC_NODE_PARAMS params{};
  params.poolProps.allocType = pool.prop().type;
  params.poolProps.location = pool.prop().location;
  params.bytesize = size;
  params.dptr = base;
  made->params = params;
  capture->add(std::move(made), stream);
  capture->allocate(base, size);
  *out = base;
  return CUDA_SUCCESS;
}

std::optional<CUresult> captured_free(Emulator& e, CUdeviceptr address, CUstream stream) {
  Capture* capture = e.captures.of(stream);
  if (!capture) return beside_capture(e, stream);
  if (capture->invalid()) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!capture->free(address, is_of_a_graph(e, address))) return CUDA_ERROR_INVALID_VALUE;
  const auto release = [address](Emulator& at) { return free_node_memory(at, address); };
  auto made = node(CU_GRAPH_NODE_TYPE_MEM_FREE, release);
  made->params = CUDA_MEM_FREE_NODE_PARAMS{address};
  capture->add(std::move(made), stream);
  return CUDA_SUCCESS;
}

std::optional<CUresult> captured_launch(Emulator& e,
                                        const std::function<std::shared_ptr<GraphNode>()>& make,
                                        CUstream stream) {
  Capture* capture = e.captures.of(stream);
  if (!capture) {
    const bool legacy = reinterpret_cast<std::uintptr_t>(stream) <= 1;
    const CUresult refused = legacy ? e.captures.refuse_legacy() : CUDA_SUCCESS;
    return refused == CUDA_SUCCESS ? std::nullopt : std::optional(refused);
  }
  if (capture->invalid()) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  capture->add(make(), stream);
  return CUDA_SUCCESS;
}

std::optional<CUresult> captured_event(Emulator& e, CUevent event, CUstream stream) {
  if (reinterpret_cast<std::uintptr_t>(stream) <= 1) {
    const CUresult refused = e.captures.refuse_legacy();
    if (refused != CUDA_SUCCESS) return refused;
  }
  const Capture* const capture = e.captures.of(stream);
  if (capture && capture->invalid()) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  e.captures.recorded(event, stream);
  return std::nullopt;
}

std::function<CUresult(Emulator&)> event_work(CUevent event, bool records) {
  return [event, records](Emulator& at) -> CUresult {
    Event* const found = at.streams.find(event);
    if (!found || !records) return CUDA_SUCCESS;  // work here comes in the order of its launches
    at.captures.forget(event);
    found->recorded = true;
    found->work = 0;
    found->at = std::chrono::steady_clock::now();
    return CUDA_SUCCESS;
  };
}

CUresult captured_external_event(Capture& capture, CUevent event, bool records, CUstream stream) {
  if (capture.invalid()) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  auto made = node(records ? CU_GRAPH_NODE_TYPE_EVENT_RECORD : CU_GRAPH_NODE_TYPE_WAIT_EVENT,
                   event_work(event, records));
  made->params = event;
  capture.add(std::move(made), stream);
  return CUDA_SUCCESS;
}

}  // namespace cuvmm::emulator
