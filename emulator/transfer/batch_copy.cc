// SPDX-License-Identifier: Apache-2.0
// Copies with attributes, and batches of them: any number of copies, each as cuMemcpyAsync or
// cuMemcpy3DAsync would make it. An H200's refusals of batches of plain copies, and the order of
// its checks, were recorded (fuzz/plain); the other copies follow those and the documentation.
#include "emulator/transfer/batch_copy.h"

#include "api/default_stream.h"
#include "api/location.h"
#include "emulator/core/quirks.h"
#include "emulator/transfer/transfer_entry.h"
#include "rulebook/array/array_uses.h"
#include "rulebook/batch/operations.h"

namespace cuvmm::emulator {

namespace {

// Whether a hint names an existing device; the ids of the host's places are not checked.
bool sound(const Emulator& e, const CUmemLocation& hint) {
  return !is_device(hint) || e.valid_device(device_of(hint));
}

bool sound(const Emulator& e, const CUmemcpyAttributes& attributes) {
  return sound(e, attributes.srcLocHint) && sound(e, attributes.dstLocHint);
}

bool sound(const Emulator& e, const CUmemcpy3DOperand& operand) {
  return operand.type != CU_MEMCPY_OPERAND_TYPE_POINTER || sound(e, operand.op.ptr.locHint);
}

template <class CallStruct>
CUresult answer(const Emulator& e, const Violations& violations) {
  if (violations.empty()) return CUDA_SUCCESS;
  return e.profile.answer(CallStruct::kEntryPoint, violations);
}

// Checks the call as a whole. A copy without bytes is refused when its turn comes.
template <class CallStruct>
CUresult check_call(const Emulator& e, const CallStruct& call) {
  if constexpr (kRefusesLegacyStream<CallStruct>) {
    if (!is_legacy_stream(call.hStream, false) && !e.current_context()) {
      return call.hStream == CU_STREAM_PER_THREAD ? e.no_context() : CUDA_ERROR_INVALID_VALUE;
    }
  }
  Violations found = check_arguments(call, Facts{});
  found.erase_if([](const Violation& v) { return v.rule == Rule::kCopySize; });
  return answer<CallStruct>(e, found);
}

template <class CallStruct>
CUresult refuse_empty(const Emulator& e) {
  Violations found;
  found.push_back({.rule = Rule::kCopySize, .message = {}, .objects = {}});
  return answer<CallStruct>(e, found);
}

template <class CallStruct>
CUresult copy_one(Emulator& e, const CUDA_MEMCPY3D_BATCH_OP& op, CUstream stream, bool perform) {
  const CUextent3D& extent = op.extent;
  if (extent.width == 0 || extent.height == 0 || extent.depth == 0) {
    return refuse_empty<CallStruct>(e);
  }
  if (!sound(e, op.src) || !sound(e, op.dst)) return CUDA_ERROR_INVALID_VALUE;
  if (op.src.type == CU_MEMCPY_OPERAND_TYPE_ARRAY || op.dst.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
    ArrayUse arrays[kMostArrayUses];
    const Violations wrong = check_array_uses(e.model, arrays, array_uses(op, arrays));
    return wrong.empty() ? CUDA_ERROR_NOT_SUPPORTED : answer<CallStruct>(e, wrong);
  }
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.srcDevice = op.src.op.ptr.ptr;
  copy.srcPitch = op.src.op.ptr.rowLength;
  copy.srcHeight = op.src.op.ptr.layerHeight;
  copy.dstDevice = op.dst.op.ptr.ptr;
  copy.dstPitch = op.dst.op.ptr.rowLength;
  copy.dstHeight = op.dst.op.ptr.layerHeight;
  copy.WidthInBytes = extent.width;
  copy.Height = extent.height;
  copy.Depth = extent.depth;
  calls::Memcpy3DAsync one;
  one.pCopy = &copy;
  one.hStream = stream;
  return run_transfer(e, one, perform, Judge::kStream);
}

// Whether the destination is reserved and not mapped. Where the profile's driver accepts such a
// copy (recorded for a copy from mapped memory), nobody can see the written bytes.
template <class CallStruct>
bool goes_nowhere(const Emulator& e, CUdeviceptr to, CUdeviceptr from) {
  const Verdict& verdict = e.profile.verdict(CallStruct::kEntryPoint, Rule::kDataMapped);
  return verdict.kind == Verdict::Kind::kAccepts && e.model.reservation_at(to) &&
         !e.model.mapping_at(to) && e.model.mapping_at(from);
}

template <class CallStruct>
CUresult copy_one(Emulator& e, CUdeviceptr to, CUdeviceptr from, std::size_t size, CUstream stream,
                  bool perform) {
  if constexpr (kRefusesLegacyStream<CallStruct>) {
    if (size == 0) return refuse_empty<CallStruct>(e);
    if (goes_nowhere<CallStruct>(e, to, from)) return CUDA_SUCCESS;
  }
  calls::MemcpyAsync one;
  one.dst = to;
  one.src = from;
  one.ByteCount = size;
  one.hStream = stream;
  return run_transfer(e, one, perform, Judge::kStream);
}

// Until CUDA 13 the call writes the index of the refused copy; SIZE_MAX where no single copy is at
// fault, or none was refused. A call on NULL writes no index, unlike a call on CU_STREAM_LEGACY
// (recorded).
template <class CallStruct>
CUresult with_index([[maybe_unused]] const CallStruct& call, CUresult result,
                    [[maybe_unused]] std::size_t copy = SIZE_MAX) {
  if constexpr (requires { call.failIdx; }) {
    if (call.failIdx && call.hStream) *call.failIdx = copy;
  }
  return result;
}

template <class CallStruct>
CUresult run_flat(Emulator& e, const CallStruct& call, bool perform) {
  const CUresult refused = check_call(e, call);
  if (refused != CUDA_SUCCESS) return with_index(call, refused);
  if (!call.dsts || !call.srcs || !call.sizes) return with_index(call, CUDA_ERROR_INVALID_VALUE);
  for (std::size_t i = 0; call.attrs && i < call.numAttrs && i < call.count; ++i) {
    if (!sound(e, call.attrs[i])) return with_index(call, CUDA_ERROR_INVALID_VALUE);
  }
  // The copies before a refused copy have been made by then.
  for (std::size_t i = 0; i < call.count; ++i) {
    const CUresult result =
        copy_one<CallStruct>(e, call.dsts[i], call.srcs[i], call.sizes[i], call.hStream, perform);
    if (result != CUDA_SUCCESS) return with_index(call, result, i);
  }
  return with_index(call, CUDA_SUCCESS);
}

// The index of the copy whose own fields are wrong; SIZE_MAX where the fields of the call are
// wrong, or none.
template <class CallStruct>
std::size_t wrong_copy(const CallStruct& call) {
  if (call.flags != 0 || !call.opList) return SIZE_MAX;
  for (std::size_t i = 0; i < call.numOps; ++i) {
    CallStruct one = call;
    one.numOps = 1;
    one.opList = &call.opList[i];
    if (!check_arguments(one, Facts{}).empty()) return i;
  }
  return SIZE_MAX;
}

// The index of a copy with wrong memory is not written, unlike that of a copy with wrong fields
// (recorded).
template <class CallStruct>
CUresult run_deep(Emulator& e, const CallStruct& call, bool perform) {
  const CUresult refused = check_call(e, call);
  if (refused != CUDA_SUCCESS) return with_index(call, refused, wrong_copy(call));
  if (!call.opList) return with_index(call, CUDA_ERROR_INVALID_VALUE);
  for (std::size_t i = 0; i < call.numOps; ++i) {
    const CUresult result = copy_one<CallStruct>(e, call.opList[i], call.hStream, perform);
    if (result != CUDA_SUCCESS) return with_index(call, result, wrong_copy(call));
  }
  return with_index(call, CUDA_SUCCESS);
}

}  // namespace

CUresult run_batch(Emulator& e, const calls::MemcpyBatchAsync& call, bool perform) {
  return run_flat(e, call, perform);
}
CUresult run_batch(Emulator& e, const calls::MemcpyBatchAsync_v2& call, bool perform) {
  return run_flat(e, call, perform);
}
CUresult run_batch(Emulator& e, const calls::Memcpy3DBatchAsync& call, bool perform) {
  return run_deep(e, call, perform);
}
CUresult run_batch(Emulator& e, const calls::Memcpy3DBatchAsync_v2& call, bool perform) {
  return run_deep(e, call, perform);
}

CUresult run_batch(Emulator& e, const calls::MemcpyWithAttributesAsync& call, bool perform) {
  const CUresult refused = check_call(e, call);
  if (refused != CUDA_SUCCESS) return refused;
  if (!call.attr || !sound(e, *call.attr)) return CUDA_ERROR_INVALID_VALUE;
  return copy_one<calls::MemcpyWithAttributesAsync>(e, call.dst, call.src, call.size, call.hStream,
                                                    perform);
}

CUresult run_batch(Emulator& e, const calls::Memcpy3DWithAttributesAsync& call, bool perform) {
  const CUresult refused = check_call(e, call);
  if (refused != CUDA_SUCCESS) return refused;
  if (!call.op) return CUDA_ERROR_INVALID_VALUE;
  return copy_one<calls::Memcpy3DWithAttributesAsync>(e, *call.op, call.hStream, perform);
}

// The emulator has no decompression engine: it reports wrong arguments, and does not support the
// rest.
CUresult run_batch(Emulator& e, const calls::MemBatchDecompressAsync& call, bool) {
  if (const auto odd = answer(e, Quirk::kNoDecompression, true)) return *odd;
  Facts facts = e.facts();
  const Context* by = e.current_context();
  CUresult result = use_stream(e, call.stream, facts.place, by);
  if (result == CUDA_SUCCESS) {
    result = answer<calls::MemBatchDecompressAsync>(e, check(e.model, call, facts));
    if (result == CUDA_ERROR_INVALID_CONTEXT) result = e.no_context();
  }
  if (result == CUDA_SUCCESS && call.count != 0) result = CUDA_ERROR_NOT_SUPPORTED;
  if (result != CUDA_SUCCESS && call.errorIndex) *call.errorIndex = SIZE_MAX;
  return result;
}

}  // namespace cuvmm::emulator
