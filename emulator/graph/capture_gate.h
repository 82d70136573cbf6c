// SPDX-License-Identifier: Apache-2.0
// The answer to each call of entry_points.def while a stream captures: the call is made as usual,
// becomes a node, or is refused, as on an H200.
#pragma once

#include <cstring>
#include <optional>
#include <type_traits>

#include "emulator/capture/captured.h"
#include "emulator/graph/page_locked.h"
#include "emulator/graph/semaphore_nodes.h"
#include "emulator/transfer/captured_operations.h"
#include "emulator/transfer/transfer_entry.h"

namespace cuvmm::emulator {

namespace detail {

template <class C, class... Those>
inline constexpr bool kOneOf = (std::is_same_v<C, Those> || ...);

template <class C>
inline constexpr bool kUnsafe =
    kOneOf<C, calls::MemAlloc, calls::MemAllocPitch, calls::MemFree, calls::MemAllocHost,
           calls::MemHostAlloc, calls::MemFreeHost, calls::MemHostRegister,
           calls::MemHostUnregister, calls::PointerSetAttribute, calls::MemPoolCreate,
           calls::MemPoolDestroy, calls::MemPoolExportToShareableHandle, calls::MemPoolTrimTo,
           calls::ImportExternalMemory, calls::ArrayCreate, calls::Array3DCreate,
           calls::ArrayDestroy, calls::MipmappedArrayCreate, calls::MipmappedArrayDestroy>;

template <class C>
concept Transfer = requires(const C& call) {
  plan(call);
};
template <class C>
concept FillCall = requires(const C& call) {
  plan(call).element;
};
template <class C>
concept OnStream = requires(const C& call) {
  call.hStream;
};

inline std::optional<CUresult> refusal(CUresult result) {
  return result == CUDA_SUCCESS ? std::nullopt : std::optional(result);
}

/// A copy of the call, for the default stream, which outlives the caller's descriptor.
template <class C>
auto stored_transfer(const C& call) {
  auto copy = std::make_shared<C>(call);
  copy->hStream = nullptr;
  if constexpr (requires { copy->pCopy; }) {
    using Descriptor = std::remove_cvref_t<decltype(*call.pCopy)>;
    const auto descriptor = std::make_shared<Descriptor>(*call.pCopy);
    copy->pCopy = descriptor.get();
    return std::function<CUresult(Emulator&, bool)>(
        [copy, descriptor](Emulator& e, bool perform) { return run_transfer(e, *copy, perform); });
  } else {
    return std::function<CUresult(Emulator&, bool)>(
        [copy](Emulator& e, bool perform) { return run_transfer(e, *copy, perform); });
  }
}

/// The parameters that the node of a captured copy reports; nothing for copies with arrays or
/// between named peers.
template <class C>
std::optional<CUDA_MEMCPY3D> described(const C& call) {
  CUDA_MEMCPY3D out{};
  if constexpr (requires { call.pCopy->Depth; }) {
    if constexpr (requires { call.pCopy->dstContext; }) return std::nullopt;
    std::memcpy(&out, call.pCopy, sizeof out);
  } else if constexpr (requires { call.pCopy; }) {
    const CUDA_MEMCPY2D& from = *call.pCopy;
    out.srcXInBytes = from.srcXInBytes;
    out.srcY = from.srcY;
    out.srcMemoryType = from.srcMemoryType;
    out.srcHost = from.srcHost;
    out.srcDevice = from.srcDevice;
    out.srcArray = from.srcArray;
    out.srcPitch = from.srcPitch;
    out.dstXInBytes = from.dstXInBytes;
    out.dstY = from.dstY;
    out.dstMemoryType = from.dstMemoryType;
    out.dstHost = from.dstHost;
    out.dstDevice = from.dstDevice;
    out.dstArray = from.dstArray;
    out.dstPitch = from.dstPitch;
    out.WidthInBytes = from.WidthInBytes;
    out.Height = from.Height;
    out.Depth = 1;
  } else {
    const Copy copy = plan(call);
    if (copy.arrays()) return std::nullopt;
    constexpr bool kUnified = requires { call.dst; };
    out.srcMemoryType = out.dstMemoryType = kUnified ? CU_MEMORYTYPE_UNIFIED : CU_MEMORYTYPE_DEVICE;
    if constexpr (requires { call.srcHost; }) {
      out.srcMemoryType = CU_MEMORYTYPE_HOST;
      out.srcHost = call.srcHost;
    } else {
      out.srcDevice = copy.from.base;
    }
    if constexpr (requires { call.dstHost; }) {
      out.dstMemoryType = CU_MEMORYTYPE_HOST;
      out.dstHost = call.dstHost;
    } else {
      out.dstDevice = copy.to.base;
    }
    out.WidthInBytes = copy.width;
    out.Height = out.Depth = 1;
  }
  return out;
}

// Copies are checked when they are captured, and fills when the graph is instantiated. A launch
// checks accesses to the capture's own memory, because that memory does not exist before the
// launch.
template <class C>
CUresult capture_transfer(Emulator& e, Capture& capture, const C& call) {
  if (capture.invalid()) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if constexpr (requires { call.pCopy; }) {
    if (!call.pCopy) return CUDA_ERROR_INVALID_VALUE;
  }
  const auto work = stored_transfer(call);
  // Memory of an allocation node, also of another graph, exists during launches only.
  const auto comes_later = [&](Address address) {
    if (capture.allocates(address)) return true;
    const PlainAllocation* plain = e.plain.at(address);
    if (plain && !plain->of_graph) return false;  // known without a look at all graphs
    return e.graphs.memory_at(address) != nullptr;
  };
  auto node = std::make_shared<GraphNode>();
  node->type = FillCall<C> ? CU_GRAPH_NODE_TYPE_MEMSET : CU_GRAPH_NODE_TYPE_MEMCPY;
  node->run = [work](Emulator& at) { return work(at, true); };
  if constexpr (FillCall<C>) {
    const Fill fill = plan(call);
    node->params = CUDA_MEMSET_NODE_PARAMS{.dst = fill.to.base,
                                           .pitch = fill.to.pitch,
                                           .value = static_cast<unsigned>(fill.value),
                                           .elementSize = static_cast<unsigned>(fill.element),
                                           .width = fill.width / fill.element,
                                           .height = fill.height};
    if (!comes_later(fill.to.base)) {
      node->check = [work](Emulator& at) { return work(at, false); };
    }
  } else {
    if (const auto copy = described(call)) node->params = *copy;
    note_page_locked(e, *node);
    if (!comes_later(plan(call).to.base) && !comes_later(plan(call).from.base)) {
      const CUresult result = run_transfer(e, call, false);
      if (result != CUDA_SUCCESS) return result;
    }
  }
  if (plan(call).width == 0) return CUDA_SUCCESS;
  capture.add(std::move(node), call.hStream);
  return CUDA_SUCCESS;
}

}  // namespace detail

/// The answer to a call that a capture takes or forbids; nothing where the call is to be made as
/// usual.
template <class C>
std::optional<CUresult> in_capture(const C& call) noexcept {
  std::optional<CUresult> answer;
  const CUresult looked = locked([&](Emulator& e) -> CUresult {
    Captures& captures = e.captures;
    if constexpr (detail::kUnsafe<C>) {
      answer = detail::refusal(captures.refuse_unsafe());
      // An H100 writes there all the same.
      if constexpr (std::is_same_v<C, calls::MemAlloc>) {
        if (answer && call.dptr) *call.dptr = 0;
      }
    } else if constexpr (std::is_same_v<C, calls::CtxSynchronize>) {
      answer = detail::refusal(captures.refuse_all());
    } else if constexpr (std::is_same_v<C, calls::EventRecord>) {
      answer = captured_event(e, call.hEvent, call.hStream);
    } else if constexpr (std::is_same_v<C, calls::EventSynchronize>) {
      answer = detail::refusal(captures.refuse_event(call.hEvent));
    } else if constexpr (std::is_same_v<C, calls::MemFreeAsync>) {
      answer = captured_free(e, call.dptr, call.hStream);
    } else if constexpr (std::is_same_v<C, calls::MemAllocFromPoolAsync>) {
      const Pool* pool = e.pools.find(call.pool);
      if (pool) answer = captured_allocation(e, call.dptr, call.bytesize, *pool, call.hStream);
    } else if constexpr (std::is_same_v<C, calls::MemAllocAsync>) {
      const Stream* stream = e.streams.find(call.hStream);
      const Context* context = stream ? stream->context : e.current_context();
      if (!context) return CUDA_SUCCESS;
      const Pool& pool = e.pools.current_of(context->device);
      answer = captured_allocation(e, call.dptr, call.bytesize, pool, call.hStream);
    } else if constexpr (std::is_same_v<C, calls::FabricCpyBatchAsync>) {
      // A driver makes a node of a special kind, which the emulator lacks.
      if (captures.of(call.hStream)) answer = CUDA_ERROR_NOT_SUPPORTED;
    } else if constexpr (requires { captured_semaphores(e, call); }) {
      answer = captured_semaphores(e, call);
    } else if constexpr (detail::kBecomesNode<C> || detail::kNeverCaptured<C>) {
      answer = detail::capture_operations(e, call);
    } else if constexpr (detail::Transfer<C> && detail::OnStream<C>) {
      if (Capture* capture = captures.of(call.hStream)) {
        answer = detail::capture_transfer(e, *capture, call);
      } else if (reinterpret_cast<std::uintptr_t>(call.hStream) <= 1) {
        answer = detail::refusal(captures.refuse_legacy());
      }
    } else if constexpr (detail::Transfer<C>) {
      answer = detail::refusal(captures.refuse_legacy());
    }
    return CUDA_SUCCESS;
  });
  return looked == CUDA_SUCCESS ? answer : std::optional(looked);
}

}  // namespace cuvmm::emulator
