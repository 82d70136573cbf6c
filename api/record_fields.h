// SPDX-License-Identifier: Apache-2.0
// The fields of the structures that calls take by pointer, as one list each: printer, executor and
// C writer visit them.
#pragma once

#include <cuda.h>

#include <span>
#include <type_traits>

#include "api/words.h"

namespace cuvmm {

/// One field: its key in the program text, its place in C, the words for its values.
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
  X(CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC)       \
  X(CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS)     \
  X(CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS)       \
  X(CUarrayMapInfo)                            \
  X(CUmemPoolProps)

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

// One overload per structure, for it and for its const form. Of a reserved array only the first
// element is a field: none of it may be anything but 0.
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

// `fd` is the low half of `handle`: a text gives one of them, and a printer the one of its type.
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
  // Not in every header that we build with.
  if constexpr (requires { d.maxSize; }) CUVMM_FIELD(maxSize)
  if constexpr (requires { d.usage; }) {
    CUVMM_FIELD(usage)
  } else {
    CUVMM_FIELD_AT(usage, reserved[0])  // where it lies in the newer structure
  }
  CUVMM_FIELD_AT(reserved0, reserved[0])
}

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
// A reference to void is an error of its own to clang, not a requirement that is not met.
template <>
inline constexpr bool kIsRecord<void> = false;
template <>
inline constexpr bool kIsRecord<const void> = false;

}  // namespace cuvmm
