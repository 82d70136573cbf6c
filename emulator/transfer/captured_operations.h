// SPDX-License-Identifier: Apache-2.0
// Copies with attributes, batches of them, stream memory operations and prefetches while their
// stream captures. None was recorded. A call of copies or of memory operations becomes a node that
// does all of them; a call that cannot be work of a graph is refused.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "api/default_stream.h"
#include "emulator/core/locked.h"
#include "emulator/transfer/batch_copy.h"
#include "emulator/transfer/operations_entry.h"
#include "rulebook/batch/operations.h"

namespace cuvmm::emulator {

namespace detail {

/// A copy of a call and of the memory that its pointers lead to, which outlives the caller's. It
/// names no stream, and no place for an index.
template <class CallStruct>
class StoredCall {
 public:
  explicit StoredCall(const CallStruct& call) : call_(call) {
    if constexpr (requires { call.count; }) count_ = call.count;
    if constexpr (requires { call.numOps; }) count_ = call.numOps;
    if constexpr (requires { call.numAttrs; }) parts_ = call.numAttrs;
    call_.visit(
        [this](ParameterKind kind, const char*, const auto& field) { this->keep(kind, field); });
  }
  StoredCall(const StoredCall&) = delete;
  StoredCall& operator=(const StoredCall&) = delete;

  const CallStruct& call() const { return call_; }

 private:
  template <class T>
  void keep(ParameterKind kind, const T& constant) {
    T& field = const_cast<T&>(constant);  // refers to a member of call_, which is not constant
    if constexpr (std::is_same_v<T, CUstream>) {
      field = kRefusesLegacyStream<CallStruct> ? CU_STREAM_PER_THREAD : nullptr;
    } else if constexpr (std::is_pointer_v<T>) {
      if (kind == ParameterKind::kOutSize) {
        field = nullptr;
        return;
      }
      if (!field) return;
      std::size_t count = count_;
      if (kind == ParameterKind::kInRecord) count = 1;
      if (kind == ParameterKind::kInIndices || std::is_same_v<T, CUmemcpyAttributes*>) {
        count = kind == ParameterKind::kInRecord ? 1 : parts_;
      }
      using Element = std::remove_pointer_t<T>;
      auto copy = std::make_shared<std::vector<Element>>(field, field + count);
      field = copy->data();
      stored_.push_back(std::move(copy));
    }
  }

  CallStruct call_;
  std::size_t count_ = 1;
  std::size_t parts_ = 1;
  std::vector<std::shared_ptr<void>> stored_;
};

/// CU_GRAPH_NODE_TYPE_MEMCPY_BATCH, CUDA 13.5.
inline constexpr auto kMemcpyBatchNode = static_cast<CUgraphNodeType>(14);

template <class C>
constexpr CUgraphNodeType node_type() {
  if (!requires(Emulator & e, const C& c) { run_batch(e, c); }) {
    return CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
  }
  return requires(const C& c) { c.count; }
  || requires(const C& c) { c.numOps; }
  ? kMemcpyBatchNode : CU_GRAPH_NODE_TYPE_MEMCPY;
}

/// Runs the call as a launch does, or, without `perform`, only checks its arguments.
template <class C>
CUresult run_stored(Emulator& e, const C& call, bool perform) {
  if constexpr (requires { run_batch(e, call, perform); }) {
    return run_batch(e, call, perform);
  } else {
    const Facts facts = e.facts();
    const Violations found = perform ? check(e.model, call, facts) : check_arguments(call, facts);
    if (!found.empty()) {
      const CUresult refused = e.profile.answer(C::kEntryPoint, found);
      if (refused != CUDA_SUCCESS) return refused;
    }
    return perform ? emulator::perform(e, call, facts, Retired{}) : CUDA_SUCCESS;
  }
}

template <class C>
inline constexpr bool kBecomesNode =
    kOfOperations<C> && !std::is_same_v<C, calls::MemBatchDecompressAsync>;

/// Prefetches and related calls, and decompression: no document says that a graph can hold them.
template <class C>
inline constexpr bool kNeverCaptured =
    std::is_same_v<C, calls::MemBatchDecompressAsync> ||
    std::is_same_v<C, calls::MemPrefetchAsync> || std::is_same_v<C, calls::MemPrefetchAsync_v2> ||
    std::is_same_v<C, calls::MemPrefetchBatchAsync> ||
    std::is_same_v<C, calls::MemDiscardBatchAsync> ||
    std::is_same_v<C, calls::MemDiscardAndPrefetchBatchAsync> ||
    std::is_same_v<C, calls::StreamAttachMemAsync>;

template <class C>
CUstream named_stream(const C& call) {
  if constexpr (requires { call.hStream; }) {
    return call.hStream;
  } else {
    return call.stream;
  }
}

template <class C>
std::optional<CUresult> capture_operations(Emulator& e, const C& call) {
  CUstream stream = named_stream(call);
  Capture* capture = e.captures.of(stream);
  if (!capture) {
    const bool legacy = reinterpret_cast<std::uintptr_t>(stream) <= 1;
    const CUresult refused = legacy ? e.captures.refuse_legacy() : CUDA_SUCCESS;
    return refused == CUDA_SUCCESS ? std::nullopt : std::optional(refused);
  }
  if (capture->invalid()) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if constexpr (kNeverCaptured<C>) {
    capture->invalidate();
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  } else {
    const auto arguments = check_arguments(call, Facts{});
    if (!arguments.empty()) return run_stored(e, call, false);
    const auto stored = std::make_shared<StoredCall<C>>(call);
    auto node = std::make_shared<GraphNode>();
    node->type = node_type<C>();
    node->run = [stored](Emulator& at) { return run_stored(at, stored->call(), true); };
    capture->add(std::move(node), stream);
    return CUDA_SUCCESS;
  }
}

}  // namespace detail

}  // namespace cuvmm::emulator
