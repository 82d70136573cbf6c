// SPDX-License-Identifier: Apache-2.0
#include "examples/growable_buffer/growable_buffer.h"

#include <limits>

GrowableBuffer::~GrowableBuffer() {
  if (address_ == 0) return;
  // One unmap may end several mappings, as long as it covers whole mappings only. The handles were
  // released after the maps, so the unmap also frees the memory.
  if (size_ != 0) cuMemUnmap(address_, size_);
  cuMemAddressFree(address_, capacity_);
}

CUmemAllocationProp GrowableBuffer::prop() const {
  CUmemAllocationProp prop = {};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = device_;
  return prop;
}

std::size_t GrowableBuffer::round_up(std::size_t bytes) const {
  if (bytes > std::numeric_limits<std::size_t>::max() - (granularity_ - 1)) return 0;
  return (bytes + granularity_ - 1) / granularity_ * granularity_;
}

CUresult GrowableBuffer::reserve(std::size_t max_bytes) {
  if (address_ != 0) return CUDA_ERROR_ALREADY_MAPPED;
  // The granularity belongs to these properties only, so the query must use the properties of the
  // allocation.
  const CUmemAllocationProp properties = prop();
  CUresult result = cuMemGetAllocationGranularity(&granularity_, &properties,
                                                  CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
  if (result != CUDA_SUCCESS) return result;
  const std::size_t rounded = round_up(max_bytes);
  if (rounded == 0) return CUDA_ERROR_INVALID_VALUE;
  result = cuMemAddressReserve(&address_, rounded, 0, 0, 0);
  if (result != CUDA_SUCCESS) {
    address_ = 0;
    return result;
  }
  capacity_ = rounded;
  return CUDA_SUCCESS;
}

CUresult GrowableBuffer::grow(std::size_t bytes) {
  if (bytes <= size_) return CUDA_SUCCESS;
  if (bytes > capacity_) return CUDA_ERROR_OUT_OF_MEMORY;
  const std::size_t step = round_up(bytes) - size_;
  const CUdeviceptr tail = address_ + size_;
  steps_.reserve(steps_.size() + 1);  // first, because it may throw and needs no undo

  const CUmemAllocationProp properties = prop();
  CUmemGenericAllocationHandle handle = 0;
  CUresult result = cuMemCreate(&handle, step, &properties, 0);
  if (result != CUDA_SUCCESS) return result;
  result = cuMemMap(tail, step, 0, handle, 0);
  // A mapping keeps the memory alive, so the handle is released here: the program can neither
  // forget it nor release it twice, and a failed mapping undoes cuMemCreate.
  const CUresult released = cuMemRelease(handle);
  if (result != CUDA_SUCCESS) return result;

  // Only the tail, because the front has its access already.
  CUmemAccessDesc access = {};
  access.location = properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  result = released == CUDA_SUCCESS ? cuMemSetAccess(tail, step, &access, 1) : released;
  if (result != CUDA_SUCCESS) {
    cuMemUnmap(tail, step);
    return result;
  }
  steps_.push_back(step);
  size_ += step;
  return CUDA_SUCCESS;
}

CUresult GrowableBuffer::shrink(std::size_t bytes) {
  while (!steps_.empty() && size_ - steps_.back() >= bytes) {
    const std::size_t step = steps_.back();
    const CUresult result = cuMemUnmap(address_ + size_ - step, step);
    if (result != CUDA_SUCCESS) return result;
    steps_.pop_back();
    size_ -= step;
  }
  return CUDA_SUCCESS;
}
