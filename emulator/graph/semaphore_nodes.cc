// SPDX-License-Identifier: Apache-2.0
#include "emulator/graph/semaphore_nodes.h"

#include <memory>
#include <type_traits>
#include <utility>

#include "emulator/share/semaphore_work.h"

namespace cuvmm::emulator {

namespace {

CUresult act(Emulator&, const SignalParams&, const Fences& fences) { return signal_all(fences); }

// A launch that has to wait goes on behind the semaphores whose signals it has taken.
CUresult act(Emulator& e, const WaitParams&, const Fences& fences) {
  std::size_t*& resumed = resumed_operation();
  std::size_t first = 0;
  return wait_for_all(e, fences, resumed ? *resumed : first);
}

// An H200 takes a node whatever the handles are. The launch looks at them.
template <class Params, class Asked>
CUresult make(const Asked& asked, GraphNode& out) {
  if (asked.numExtSems != 0 && (!asked.extSemArray || !asked.paramsArray))
    return CUDA_ERROR_INVALID_VALUE;
  Params params;
  if (asked.numExtSems != 0) {
    params.semaphores.assign(asked.extSemArray, asked.extSemArray + asked.numExtSems);
    params.params.assign(asked.paramsArray, asked.paramsArray + asked.numExtSems);
  }
  out.run = [params](Emulator& e) {
    Fences fences;
    const bool known = find_fences(e, params.semaphores.data(), params.params.data(),
                                   params.semaphores.size(), fences);
    return known ? act(e, params, fences) : CUDA_ERROR_INVALID_HANDLE;
  };
  out.params = std::move(params);
  return CUDA_SUCCESS;
}

template <class Asked, class Call>
std::optional<CUresult> captured(Emulator& e, CUgraphNodeType type, const Call& call) {
  Capture* const capture = e.captures.of(call.stream);
  if (!capture) {
    const bool legacy = reinterpret_cast<std::uintptr_t>(call.stream) <= 1;
    const CUresult refused = legacy ? e.captures.refuse_legacy() : CUDA_SUCCESS;
    return refused == CUDA_SUCCESS ? std::nullopt : std::optional(refused);
  }
  if (capture->invalid()) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (call.numExtSems == 0) return CUDA_ERROR_INVALID_VALUE;  // an H200, and the capture goes on
  Fences fences;
  if (!call.extSemArray || !call.paramsArray ||
      !find_fences(e, call.extSemArray, call.paramsArray, call.numExtSems, fences)) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  auto node = std::make_shared<GraphNode>();
  node->type = type;
  Asked asked{};
  asked.extSemArray = const_cast<CUexternalSemaphore*>(call.extSemArray);
  asked.paramsArray = call.paramsArray;
  asked.numExtSems = call.numExtSems;
  const CUresult result = make_semaphores(asked, *node);
  if (result == CUDA_SUCCESS) capture->add(std::move(node), call.stream);
  return result;
}

}  // namespace

CUresult make_semaphores(const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS& asked, GraphNode& out) {
  return make<SignalParams>(asked, out);
}
CUresult make_semaphores(const CUDA_EXT_SEM_WAIT_NODE_PARAMS& asked, GraphNode& out) {
  return make<WaitParams>(asked, out);
}

std::optional<CUresult> captured_semaphores(Emulator& e,
                                            const calls::SignalExternalSemaphoresAsync& call) {
  return captured<CUDA_EXT_SEM_SIGNAL_NODE_PARAMS>(e, CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL, call);
}
std::optional<CUresult> captured_semaphores(Emulator& e,
                                            const calls::WaitExternalSemaphoresAsync& call) {
  return captured<CUDA_EXT_SEM_WAIT_NODE_PARAMS>(e, CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT, call);
}

}  // namespace cuvmm::emulator
