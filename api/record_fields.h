// SPDX-License-Identifier: Apache-2.0
// The fields of the structures that calls take by pointer, as one list for each structure. Printer,
// executor and C writer visit them.
#pragma once

#include <cuda.h>

#include <span>
#include <type_traits>

#include "api/newer/copies.h"
#include "api/newer/endpoint.h"
#include "api/words.h"

namespace cuvmm {

/// One field: its key in the program text, its place in C, and the words for its values.
struct RecordField {
  const char* key;
  const char* path;
  std::span<const Word> words = {};
};

/// X(Type) for each of the structures.
#define CUVMM_RECORD_TYPES(X)                  \
  X(CUDA_MEMCPY2D)                             \
  X(CUDA_MEMCPY3D)                             \
  X(CUDA_MEMCPY3D_PEER)                        \
  X(CUmulticastObjectProp)                     \
  X(CUDA_EXTERNAL_MEMORY_HANDLE_DESC)          \
  X(CUDA_EXTERNAL_MEMORY_BUFFER_DESC)          \
  X(CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC) \
  X(CUDA_ARRAY_DESCRIPTOR)                     \
  X(CUDA_ARRAY3D_DESCRIPTOR)                   \
  X(CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC)       \
  X(CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS)     \
  X(CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS)       \
  X(CUarrayMapInfo)                            \
  X(CUmemPoolProps)                            \
  X(CUmemcpyAttributes)                        \
  X(CUDA_MEMCPY3D_BATCH_OP)                    \
  X(CUmemDecompressParams)                     \
  X(CUstreamBatchMemOpParams)                  \
  X(CUlogicalEndpointProp)                     \
  X(CUDA_FABRIC_COPY_BATCH_OP)

#define CUVMM_FIELD(name) visit(RecordField{#name, #name}, d.name);
#define CUVMM_FIELD_AT(key, path) visit(RecordField{#key, #path}, d.path);
#define CUVMM_FIELD_WORDS(name, words) visit(RecordField{#name, #name, words}, d.name);

#define CUVMM_COPY_SIDE(side)                              \
  CUVMM_FIELD(side##XInBytes)                              \
  CUVMM_FIELD(side##Y)                                     \
  CUVMM_FIELD_WORDS(side##MemoryType, memory_type_words()) \
  CUVMM_FIELD(side##Host)                                  \
  CUVMM_FIELD(side##Device)                                \
  CUVMM_FIELD(side##Array)                                 \
  CUVMM_FIELD(side##Pitch)
#define CUVMM_COPY_SIDE_3D(side) \
  CUVMM_COPY_SIDE(side)          \
  CUVMM_FIELD(side##Z)           \
  CUVMM_FIELD(side##LOD)         \
  CUVMM_FIELD(side##Height)

// One overload per structure, for the structure and for its const form. Only the first element of a
// reserved array is a field, because all elements must be 0.
#define CUVMM_RECORD(Type)                                                                 \
  template <class Record, class Visitor>                                                   \
  requires(std::is_same_v<std::remove_const_t<Record>, Type>) void visit_record(Record& d, \
                                                                                Visitor&& visit)

CUVMM_RECORD(CUDA_MEMCPY2D){CUVMM_COPY_SIDE(src) CUVMM_COPY_SIDE(dst) CUVMM_FIELD(WidthInBytes)
                                CUVMM_FIELD(Height)}

CUVMM_RECORD(CUDA_MEMCPY3D){CUVMM_COPY_SIDE_3D(src) CUVMM_COPY_SIDE_3D(dst) CUVMM_FIELD(Depth)
                                CUVMM_FIELD(WidthInBytes) CUVMM_FIELD(Height)}

CUVMM_RECORD(CUDA_MEMCPY3D_PEER){CUVMM_COPY_SIDE_3D(src) CUVMM_COPY_SIDE_3D(dst) CUVMM_FIELD(Depth)
                                     CUVMM_FIELD(srcContext) CUVMM_FIELD(dstContext)
                                         CUVMM_FIELD(WidthInBytes) CUVMM_FIELD(Height)}

CUVMM_RECORD(CUmulticastObjectProp){CUVMM_FIELD(numDevices) CUVMM_FIELD(size)
                                        CUVMM_FIELD_WORDS(handleTypes, handle_type_words())
                                            CUVMM_FIELD(flags)}

// `fd` is the low half of `handle`. A program text gives one of the two; a printer prints the one
// that belongs to the type.
CUVMM_RECORD(CUDA_EXTERNAL_MEMORY_HANDLE_DESC) {
  CUVMM_FIELD_WORDS(type, external_memory_type_words())
  const bool by_descriptor = d.type == CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD ||
                             static_cast<int>(d.type) == 9;  // DMABUF_FD, CUDA 13
  if (by_descriptor || !std::is_const_v<Record>) CUVMM_FIELD_AT(fd, handle.fd)
  if (!by_descriptor || !std::is_const_v<Record>) {
    CUVMM_FIELD_AT(handle, handle.win32.handle)
    CUVMM_FIELD_AT(name, handle.win32.name)
  }
  CUVMM_FIELD(size)
  CUVMM_FIELD(flags)
  CUVMM_FIELD_AT(reserved0, reserved[0])
}

CUVMM_RECORD(CUDA_EXTERNAL_MEMORY_BUFFER_DESC){
    CUVMM_FIELD(offset) CUVMM_FIELD(size) CUVMM_FIELD(flags) CUVMM_FIELD_AT(reserved0, reserved[0])}

CUVMM_RECORD(CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC){
    CUVMM_FIELD(offset) CUVMM_FIELD_AT(width, arrayDesc.Width)
        CUVMM_FIELD_AT(height, arrayDesc.Height) CUVMM_FIELD_AT(depth, arrayDesc.Depth)
            CUVMM_FIELD_AT(format, arrayDesc.Format) CUVMM_FIELD_AT(channels, arrayDesc.NumChannels)
                CUVMM_FIELD_AT(arrayFlags, arrayDesc.Flags) CUVMM_FIELD(numLevels)
                    CUVMM_FIELD_AT(reserved0, reserved[0])}

CUVMM_RECORD(CUDA_ARRAY_DESCRIPTOR){CUVMM_FIELD_AT(width, Width) CUVMM_FIELD_AT(height, Height)
                                        CUVMM_FIELD_AT(format, Format)
                                            CUVMM_FIELD_AT(channels, NumChannels)}

CUVMM_RECORD(CUDA_ARRAY3D_DESCRIPTOR){
    CUVMM_FIELD_AT(width, Width) CUVMM_FIELD_AT(height, Height) CUVMM_FIELD_AT(depth, Depth)
        CUVMM_FIELD_AT(format, Format) CUVMM_FIELD_AT(channels, NumChannels)
            CUVMM_FIELD_AT(flags, Flags)}

CUVMM_RECORD(CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC) {
  CUVMM_FIELD_WORDS(type, external_semaphore_type_words())
  const bool by_descriptor = d.type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD ||
                             d.type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD;
  if (by_descriptor || !std::is_const_v<Record>) CUVMM_FIELD_AT(fd, handle.fd)
  if (!by_descriptor || !std::is_const_v<Record>) {
    CUVMM_FIELD_AT(handle, handle.win32.handle)
    CUVMM_FIELD_AT(name, handle.win32.name)
  }
  CUVMM_FIELD(flags)
  CUVMM_FIELD_AT(reserved0, reserved[0])
}

CUVMM_RECORD(CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS){
    CUVMM_FIELD_AT(value, params.fence.value) CUVMM_FIELD_AT(key, params.keyedMutex.key)
        CUVMM_FIELD(flags) CUVMM_FIELD_AT(reserved0, reserved[0])}

CUVMM_RECORD(CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS){
    CUVMM_FIELD_AT(value, params.fence.value) CUVMM_FIELD_AT(key, params.keyedMutex.key)
        CUVMM_FIELD_AT(timeoutMs, params.keyedMutex.timeoutMs) CUVMM_FIELD(flags)
            CUVMM_FIELD_AT(reserved0, reserved[0])}

CUVMM_RECORD(CUarrayMapInfo) {
  CUVMM_FIELD(resourceType)
  CUVMM_FIELD_AT(array, resource.array)
  CUVMM_FIELD(subresourceType)
  const bool tail = d.subresourceType == CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL;
  if (!tail) {
    CUVMM_FIELD_AT(level, subresource.sparseLevel.level)
    CUVMM_FIELD_AT(layer, subresource.sparseLevel.layer)
    CUVMM_FIELD_AT(offsetX, subresource.sparseLevel.offsetX)
    CUVMM_FIELD_AT(offsetY, subresource.sparseLevel.offsetY)
    CUVMM_FIELD_AT(offsetZ, subresource.sparseLevel.offsetZ)
    CUVMM_FIELD_AT(extentWidth, subresource.sparseLevel.extentWidth)
    CUVMM_FIELD_AT(extentHeight, subresource.sparseLevel.extentHeight)
    CUVMM_FIELD_AT(extentDepth, subresource.sparseLevel.extentDepth)
  } else {
    CUVMM_FIELD_AT(tailLayer, subresource.miptail.layer)
    CUVMM_FIELD_AT(tailOffset, subresource.miptail.offset)
    CUVMM_FIELD_AT(tailSize, subresource.miptail.size)
  }
  CUVMM_FIELD_AT(operation, memOperationType)
  CUVMM_FIELD_AT(handleType, memHandleType)
  CUVMM_FIELD_AT(memHandle, memHandle.memHandle)
  CUVMM_FIELD(offset)
  CUVMM_FIELD(deviceBitMask)
  CUVMM_FIELD(flags)
  CUVMM_FIELD_AT(reserved0, reserved[0])
  CUVMM_FIELD_AT(reserved1, reserved[1])
}

CUVMM_RECORD(CUmemPoolProps) {
  CUVMM_FIELD_WORDS(allocType, allocation_type_words())
  CUVMM_FIELD_WORDS(handleTypes, handle_type_words())
  CUVMM_FIELD(location)
  CUVMM_FIELD_AT(win32_security, win32SecurityAttributes)
  // Some headers that cuvmm builds with lack maxSize.
  if constexpr (requires { d.maxSize; }) CUVMM_FIELD(maxSize)
  // Older headers lack these fields, so they are read where they lie in the newer structure.
  if constexpr (requires { d.gpuDirectRDMACapable; }) {
    CUVMM_FIELD(usage)
    CUVMM_FIELD_AT(rdma, gpuDirectRDMACapable)
    CUVMM_FIELD_AT(reserved0, reserved[0])
  } else if constexpr (requires { d.usage; }) {
    CUVMM_FIELD(usage)
    CUVMM_FIELD_AT(rdma, reserved[0])
    CUVMM_FIELD_AT(reserved0, reserved[1])
  } else {
    CUVMM_FIELD_AT(usage, reserved[0])
    CUVMM_FIELD_AT(rdma, reserved[2])
    CUVMM_FIELD_AT(reserved0, reserved[3])
  }
}

CUVMM_RECORD(CUmemcpyAttributes) {
  CUVMM_FIELD(srcAccessOrder)
  CUVMM_FIELD(flags) CUVMM_FIELD_AT(src, srcLocHint) CUVMM_FIELD_AT(dst, dstLocHint)
}

#define CUVMM_OPERAND(side)                                    \
  CUVMM_FIELD_AT(side##Type, side.type)                        \
  if (d.side.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {           \
    CUVMM_FIELD_AT(side##Array, side.op.array.array)           \
    CUVMM_FIELD_AT(side##X, side.op.array.offset.x)            \
    CUVMM_FIELD_AT(side##Y, side.op.array.offset.y)            \
    CUVMM_FIELD_AT(side##Z, side.op.array.offset.z)            \
  } else {                                                     \
    CUVMM_FIELD_AT(side##Ptr, side.op.ptr.ptr)                 \
    CUVMM_FIELD_AT(side##RowLength, side.op.ptr.rowLength)     \
    CUVMM_FIELD_AT(side##LayerHeight, side.op.ptr.layerHeight) \
    CUVMM_FIELD_AT(side##LocHint, side.op.ptr.locHint)         \
  }
// The type comes before the fields that depend on it.
CUVMM_RECORD(CUDA_MEMCPY3D_BATCH_OP){
    CUVMM_OPERAND(src) CUVMM_OPERAND(dst) CUVMM_FIELD_AT(width, extent.width)
        CUVMM_FIELD_AT(height, extent.height) CUVMM_FIELD_AT(depth, extent.depth)
            CUVMM_FIELD(srcAccessOrder) CUVMM_FIELD(flags)}
#undef CUVMM_OPERAND

CUVMM_RECORD(CUmemDecompressParams){CUVMM_FIELD(srcNumBytes) CUVMM_FIELD(dstNumBytes)
                                        CUVMM_FIELD(dstActBytes) CUVMM_FIELD(src) CUVMM_FIELD(dst)
                                            CUVMM_FIELD(algo) CUVMM_FIELD_AT(padding0, padding[0])}

// The operation comes before the fields that depend on it.
CUVMM_RECORD(CUstreamBatchMemOpParams) {
  CUVMM_FIELD(operation)
  const int operation = static_cast<int>(d.operation);
  if (operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 || operation == CU_STREAM_MEM_OP_WRITE_VALUE_32 ||
      operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 || operation == CU_STREAM_MEM_OP_WRITE_VALUE_64) {
    CUVMM_FIELD_AT(address, waitValue.address)
    CUVMM_FIELD_AT(value, waitValue.value64)
    CUVMM_FIELD_AT(flags, waitValue.flags)
  } else {
    CUVMM_FIELD_AT(flags, flushRemoteWrites.flags)
  }
  if (operation == kStreamMemOpAtomicReduction) {
    auto& reduction = reduction_of(d);
    visit(RecordField{"reductionOp", "atomicReduction.reductionOp"}, reduction.reduction);
    visit(RecordField{"dataType", "atomicReduction.dataType"}, reduction.data_type);
    visit(RecordField{"address", "atomicReduction.address"}, reduction.address);
    visit(RecordField{"value", "atomicReduction.value"}, reduction.value);
  }
}

// A program text gives the union's member that it means; a printer prints the one that belongs to
// the type.
CUVMM_RECORD(CUlogicalEndpointProp) {
  CUVMM_FIELD_WORDS(type, endpoint_type_words())
  const bool team = d.type == CU_LOGICAL_ENDPOINT_TYPE_MULTICAST;
  if (!team || !std::is_const_v<Record>) CUVMM_FIELD_AT(device, unicast.device)
  if (team || !std::is_const_v<Record>) CUVMM_FIELD_AT(numDevices, multicast.numDevices)
  CUVMM_FIELD(size)
  CUVMM_FIELD_WORDS(ipcHandleTypes, endpoint_handle_type_words())
  CUVMM_FIELD_WORDS(flags, endpoint_flag_words())
}

#define CUVMM_FABRIC_SIDE(side)                                                          \
  visit(RecordField{#side "Type", #side ".type", fabric_operand_words()}, d.side.type);  \
  if (const bool endpoint = d.side.type == CU_FABRIC_COPY_OPERAND_TYPE_LOGICAL_ENDPOINT; \
      endpoint || !std::is_const_v<Record>) {                                            \
    CUVMM_FIELD_AT(side##Id, side.op.le.id)                                              \
    CUVMM_FIELD_AT(side##Offset, side.op.le.offset)                                      \
  }                                                                                      \
  if (const bool pointer = d.side.type != CU_FABRIC_COPY_OPERAND_TYPE_LOGICAL_ENDPOINT;  \
      pointer || !std::is_const_v<Record>) {                                             \
    CUVMM_FIELD_AT(side, side.op.ptr.ptr)                                                \
    /* Most operands have no hint. */                                                    \
    if (!std::is_const_v<Record> || static_cast<int>(d.side.op.ptr.locHint.type) != 0)   \
      CUVMM_FIELD_AT(side##Hint, side.op.ptr.locHint)                                    \
  }
CUVMM_RECORD(CUDA_FABRIC_COPY_BATCH_OP) {
  CUVMM_FABRIC_SIDE(src)
  CUVMM_FABRIC_SIDE(dst)
  CUVMM_FIELD(size)
  CUVMM_FIELD(flags)
}
#undef CUVMM_FABRIC_SIDE

#undef CUVMM_FIELD
#undef CUVMM_FIELD_AT
#undef CUVMM_FIELD_WORDS
#undef CUVMM_COPY_SIDE
#undef CUVMM_COPY_SIDE_3D
#undef CUVMM_RECORD

/// Whether a pointer parameter points to such a structure.
template <class T>
inline constexpr bool kIsRecord = requires(T& record) {
  visit_record(record, [](const RecordField&, auto&) {});
};
// clang reports a reference to void as an error, not as an unmet requirement.
template <>
inline constexpr bool kIsRecord<void> = false;
template <>
inline constexpr bool kIsRecord<const void> = false;

}  // namespace cuvmm
