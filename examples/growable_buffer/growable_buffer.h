// SPDX-License-Identifier: Apache-2.0
// A buffer on one device that grows and shrinks without moving. It shows the right use of the API.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <vector>

/// Owns one address range, reserved once at its full size, and the memory mapped into its front.
/// Growing maps more memory behind the front: no bytes are copied, and the address stays.
///
/// Each step of growing is one allocation and one mapping, because a mapping has a whole allocation
/// and ends only as a whole. Errors are the driver's codes; a call that fails leaves the buffer
/// unchanged. Neither thread-safe nor movable. Work that uses the memory must be finished before
/// shrink() or the destructor, because cuMemUnmap waits for nothing.
class GrowableBuffer {
 public:
  /// Holds no memory until reserve() succeeded.
  explicit GrowableBuffer(int device_ordinal) : device_(device_ordinal) {}
  ~GrowableBuffer();
  GrowableBuffer(const GrowableBuffer&) = delete;
  GrowableBuffer& operator=(const GrowableBuffer&) = delete;

  /// Reserves addresses for `max_bytes`, rounded up to the granularity; takes no memory.
  /// CUDA_ERROR_ALREADY_MAPPED at a second call.
  CUresult reserve(std::size_t max_bytes);

  /// Makes at least `bytes` of the front usable. CUDA_ERROR_OUT_OF_MEMORY when the reservation or
  /// the device has too little space. Does nothing when that much is usable already.
  CUresult grow(std::size_t bytes);

  /// Frees memory from the back, in whole steps of growing, as long as `bytes` stay usable.
  CUresult shrink(std::size_t bytes);

  CUdeviceptr address() const { return address_; }
  std::size_t size() const { return size_; }          ///< bytes that are mapped and accessible
  std::size_t capacity() const { return capacity_; }  ///< bytes that are reserved

 private:
  CUmemAllocationProp prop() const;
  std::size_t round_up(
      std::size_t bytes) const;  ///< 0 when no multiple of the granularity is enough

  int device_;
  std::size_t granularity_ = 0;
  CUdeviceptr address_ = 0;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
  std::vector<std::size_t> steps_;  ///< sizes of the mappings, front to back
};
