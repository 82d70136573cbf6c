// SPDX-License-Identifier: Apache-2.0
// Memory and arrays of up to three dimensions, and the copies of them.
#include <optional>

#include "emulator/runtime/calls/call.h"
#include "emulator/runtime/calls/copies.h"
#include "emulator/runtime/calls/volume_copy.h"
#include "emulator/runtime/channel_format.h"

namespace cuvmm::runtime {

namespace {

constexpr unsigned kPitchElement = 4;

Error make_array(const Driver& driver, CUarray* out, const ChannelFormat* format,
                 const Volume& extent, unsigned flags) {
  CUDA_ARRAY3D_DESCRIPTOR shape{};
  if (!out || !format) return cudaErrorInvalidValue;
  if (!convert(*format, shape)) return cudaErrorInvalidChannelDescriptor;
  shape.Width = extent.width;
  shape.Height = extent.height;
  shape.Depth = extent.depth;
  shape.Flags = flags;  // the numbers are the driver's
  return ask(driver.cuArray3DCreate, out, &shape);
}

Error fill(const Driver& driver, const PitchedMemory& memory, int value, const Volume& extent,
           const std::optional<CUstream>& stream) {
  const auto byte = static_cast<unsigned char>(value);
  for (std::size_t z = 0; z < extent.depth; ++z) {
    const CUdeviceptr slice = address(memory.pointer) + z * memory.pitch * memory.height;
    const Error error =
        stream ? ask(driver.cuMemsetD2D8Async, slice, memory.pitch, byte, extent.width,
                     extent.height, *stream)
               : ask(driver.cuMemsetD2D8, slice, memory.pitch, byte, extent.width, extent.height);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace

CUVMM_RUNTIME_CALL(cudaMalloc3D, (out, extent), PitchedMemory* out, Volume extent) {
  if (!out) return cudaErrorInvalidValue;
  *out = {nullptr, 0, extent.width, extent.height};
  if (extent.width == 0 || extent.height == 0 || extent.depth == 0) return cudaSuccess;
  CUdeviceptr memory = 0;
  const Error error = ask(driver.cuMemAllocPitch, &memory, &out->pitch, extent.width,
                          extent.height * extent.depth, kPitchElement);
  out->pointer = reinterpret_cast<void*>(memory);
  return error;
}

CUVMM_RUNTIME_ON_STREAM(cudaMemset3D, ptds, (memory, value, extent), PitchedMemory memory,
                        int value, Volume extent) {
  return fill(driver, memory, value, extent, std::nullopt);
}
CUVMM_RUNTIME_ON_STREAM(cudaMemset3DAsync, ptsz, (memory, value, extent, stream),
                        PitchedMemory memory, int value, Volume extent, CUstream stream) {
  return fill(driver, memory, value, extent, stream);
}

CUVMM_RUNTIME_CALL(cudaMallocArray, (out, format, width, height, flags), CUarray* out,
                   const ChannelFormat* format, std::size_t width, std::size_t height,
                   unsigned flags) {
  return make_array(driver, out, format, {width, height, 0}, flags);
}
CUVMM_RUNTIME_CALL(cudaMalloc3DArray, (out, format, extent, flags), CUarray* out,
                   const ChannelFormat* format, Volume extent, unsigned flags) {
  return make_array(driver, out, format, extent, flags);
}
CUVMM_RUNTIME_CALL(cudaFreeArray, (array), CUarray array) {
  return array ? ask(driver.cuArrayDestroy, array) : cudaSuccess;
}

CUVMM_RUNTIME_CALL(cudaArrayGetInfo, (format, extent, flags, array), ChannelFormat* format,
                   Volume* extent, unsigned* flags, CUarray array) {
  CUDA_ARRAY3D_DESCRIPTOR shape{};
  const Error error = ask(driver.cuArray3DGetDescriptor, &shape, array);
  if (error != cudaSuccess) return error;
  if (extent) *extent = {shape.Width, shape.Height, shape.Depth};
  if (flags) *flags = shape.Flags;
  if (format) *format = format_of(shape);
  return cudaSuccess;
}
CUVMM_RUNTIME_CALL(cudaGetChannelDesc, (format, array), ChannelFormat* format, CUarray array) {
  return format ? body_cudaArrayGetInfo(driver, format, nullptr, nullptr, array)
                : cudaErrorInvalidValue;
}

CUVMM_RUNTIME_ON_STREAM(cudaMemcpy3D, ptds, (copy), const VolumeCopy* copy) {
  CUDA_MEMCPY3D made{};
  const Error error = describe(driver, copy, made);
  return error == cudaSuccess ? ask(driver.cuMemcpy3D, &made) : error;
}
CUVMM_RUNTIME_ON_STREAM(cudaMemcpy3DAsync, ptsz, (copy, stream), const VolumeCopy* copy,
                        CUstream stream) {
  CUDA_MEMCPY3D made{};
  const Error error = describe(driver, copy, made);
  return error == cudaSuccess ? ask(driver.cuMemcpy3DAsync, &made, stream) : error;
}

}  // namespace cuvmm::runtime
