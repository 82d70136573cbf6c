// SPDX-License-Identifier: Apache-2.0
#include "emulator/runtime/calls/volume_copy.h"

#include <algorithm>

#include "emulator/runtime/calls/call.h"
#include "emulator/runtime/calls/copies.h"
#include "emulator/runtime/channel_format.h"

namespace cuvmm::runtime {

std::size_t element_bytes(const Driver& driver, CUarray array) {
  CUDA_ARRAY3D_DESCRIPTOR shape{};
  if (ask(driver.cuArray3DGetDescriptor, &shape, array) != cudaSuccess) return 0;
  constexpr int kBitsOfByte = 8;
  const ChannelFormat format = format_of(shape);
  std::size_t bits = 0;
  for (const int each : format.bits) bits += static_cast<std::size_t>(each);
  return bits / kBitsOfByte;
}

Error describe(const Driver& driver, const VolumeCopy* copy, CUDA_MEMCPY3D& out) {
  if (!copy) return cudaErrorInvalidValue;
  if (!known(copy->kind)) return cudaErrorInvalidMemcpyDirection;
  const auto one = [](CUarray array, const PitchedMemory& memory) {
    return (array != nullptr) != (memory.pointer != nullptr);
  };
  if (!one(copy->from_array, copy->from) || !one(copy->to_array, copy->to))
    return cudaErrorInvalidValue;
  std::size_t element = 1;
  if (CUarray array = copy->to_array ? copy->to_array : copy->from_array; array) {
    element = element_bytes(driver, array);
    if (element == 0) return cudaErrorInvalidResourceHandle;
  }
  out = {};
  out.srcXInBytes = copy->from_position.x * element;
  out.srcY = copy->from_position.y;
  out.srcZ = copy->from_position.z;
  out.srcMemoryType = copy->from_array ? CU_MEMORYTYPE_ARRAY : source_type(copy->kind);
  out.srcHost = copy->from.pointer;
  out.srcDevice = address(copy->from.pointer);
  out.srcArray = copy->from_array;
  out.srcPitch = copy->from.pitch;
  out.srcHeight = copy->from.height;
  out.dstXInBytes = copy->to_position.x * element;
  out.dstY = copy->to_position.y;
  out.dstZ = copy->to_position.z;
  out.dstMemoryType = copy->to_array ? CU_MEMORYTYPE_ARRAY : target_type(copy->kind);
  out.dstHost = copy->to.pointer;
  out.dstDevice = address(copy->to.pointer);
  out.dstArray = copy->to_array;
  out.dstPitch = copy->to.pitch;
  out.dstHeight = copy->to.height;
  out.WidthInBytes = copy->extent.width * element;
  out.Height = copy->extent.height;
  out.Depth = copy->extent.depth;
  return cudaSuccess;
}

namespace {

// A copy of rows between memory and an array; x in bytes, y in rows.
struct Rows {
  CUarray array;
  std::size_t x, y;
  const void* memory;
  std::size_t pitch, width, height;
  int kind;
};

CUDA_MEMCPY3D to_array(const Rows& rows) {
  CUDA_MEMCPY3D out{};
  out.srcMemoryType = source_type(rows.kind);
  out.srcHost = rows.memory;
  out.srcDevice = address(rows.memory);
  out.srcPitch = rows.pitch;
  out.srcHeight = rows.height;
  out.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  out.dstArray = rows.array;
  out.dstXInBytes = rows.x;
  out.dstY = rows.y;
  out.WidthInBytes = rows.width;
  out.Height = rows.height;
  out.Depth = 1;
  return out;
}

CUDA_MEMCPY3D from_array(const Rows& rows) {
  CUDA_MEMCPY3D out{};
  out.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  out.srcArray = rows.array;
  out.srcXInBytes = rows.x;
  out.srcY = rows.y;
  out.dstMemoryType = target_type(rows.kind);
  out.dstHost = const_cast<void*>(rows.memory);
  out.dstDevice = address(rows.memory);
  out.dstPitch = rows.pitch;
  out.dstHeight = rows.height;
  out.WidthInBytes = rows.width;
  out.Height = rows.height;
  out.Depth = 1;
  return out;
}

// Copies the rest of the first row, whole rows, and the beginning of the last row.
Error over_rows(const Driver& driver, Rows at, std::size_t size,
                CUDA_MEMCPY3D (*describe)(const Rows&)) {
  if (!known(at.kind)) return cudaErrorInvalidMemcpyDirection;
  CUDA_ARRAY3D_DESCRIPTOR shape{};
  const Error error = ask(driver.cuArray3DGetDescriptor, &shape, at.array);
  if (error != cudaSuccess) return error;
  const std::size_t row = shape.Width * element_bytes(driver, at.array);
  if (at.x >= row) return cudaErrorInvalidValue;
  while (size != 0) {
    const bool whole = at.x == 0 && size >= row;
    at.width = whole ? row : std::min(row - at.x, size);
    at.pitch = at.width;
    at.height = whole ? size / row : 1;
    const CUDA_MEMCPY3D copy = describe(at);
    if (const Error copied = ask(driver.cuMemcpy3D, &copy); copied != cudaSuccess) return copied;
    const std::size_t done = at.width * at.height;
    size -= done;
    at.memory = static_cast<const char*>(at.memory) + done;
    at.x = 0;
    at.y += at.height;
  }
  return cudaSuccess;
}

}  // namespace

CUVMM_RUNTIME_ON_STREAM(cudaMemcpy2DToArray, ptds,
                        (array, x, y, source, pitch, width, height, kind), CUarray array,
                        std::size_t x, std::size_t y, const void* source, std::size_t pitch,
                        std::size_t width, std::size_t height, int kind) {
  if (!known(kind)) return cudaErrorInvalidMemcpyDirection;
  const CUDA_MEMCPY3D copy = to_array({array, x, y, source, pitch, width, height, kind});
  return ask(driver.cuMemcpy3D, &copy);
}
CUVMM_RUNTIME_ON_STREAM(cudaMemcpy2DToArrayAsync, ptsz,
                        (array, x, y, source, pitch, width, height, kind, stream), CUarray array,
                        std::size_t x, std::size_t y, const void* source, std::size_t pitch,
                        std::size_t width, std::size_t height, int kind, CUstream stream) {
  if (!known(kind)) return cudaErrorInvalidMemcpyDirection;
  const CUDA_MEMCPY3D copy = to_array({array, x, y, source, pitch, width, height, kind});
  return ask(driver.cuMemcpy3DAsync, &copy, stream);
}
CUVMM_RUNTIME_ON_STREAM(cudaMemcpy2DFromArray, ptds,
                        (target, pitch, array, x, y, width, height, kind), void* target,
                        std::size_t pitch, CUarray array, std::size_t x, std::size_t y,
                        std::size_t width, std::size_t height, int kind) {
  if (!known(kind)) return cudaErrorInvalidMemcpyDirection;
  const CUDA_MEMCPY3D copy = from_array({array, x, y, target, pitch, width, height, kind});
  return ask(driver.cuMemcpy3D, &copy);
}
CUVMM_RUNTIME_ON_STREAM(cudaMemcpy2DFromArrayAsync, ptsz,
                        (target, pitch, array, x, y, width, height, kind, stream), void* target,
                        std::size_t pitch, CUarray array, std::size_t x, std::size_t y,
                        std::size_t width, std::size_t height, int kind, CUstream stream) {
  if (!known(kind)) return cudaErrorInvalidMemcpyDirection;
  const CUDA_MEMCPY3D copy = from_array({array, x, y, target, pitch, width, height, kind});
  return ask(driver.cuMemcpy3DAsync, &copy, stream);
}

// The forms that count bytes from (x, y) on over the ends of rows. They are deprecated since CUDA
// 10.1, and many programs use them.
CUVMM_RUNTIME_ON_STREAM(cudaMemcpyToArray, ptds, (array, x, y, source, size, kind), CUarray array,
                        std::size_t x, std::size_t y, const void* source, std::size_t size,
                        int kind) {
  return over_rows(driver, {array, x, y, source, 0, 0, 0, kind}, size, to_array);
}
CUVMM_RUNTIME_ON_STREAM(cudaMemcpyFromArray, ptds, (target, array, x, y, size, kind), void* target,
                        CUarray array, std::size_t x, std::size_t y, std::size_t size, int kind) {
  return over_rows(driver, {array, x, y, target, 0, 0, 0, kind}, size, from_array);
}

}  // namespace cuvmm::runtime
