// SPDX-License-Identifier: Apache-2.0
#include "examples/fail_bank/allocator.h"

#include <algorithm>
#include <stdexcept>

namespace bank {

Allocator::Allocator(Bug bug, CUdevice device) : bug_(bug) {
  prop_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop_.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop_.location.id = device;
  prop_.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  access_.location = prop_.location;
  access_.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  if (cuMemGetAllocationGranularity(&granule_, &prop_, CU_MEM_ALLOC_GRANULARITY_MINIMUM) !=
      CUDA_SUCCESS) {
    granule_ = std::size_t{2} << 20;
  }
}

Segment* Allocator::allocate(std::size_t granules) {
  mutex_.lock();
  Segment& segment = segments_.emplace_back();
  if (!fill(segment, granules)) {
    if (is(Bug::kLeftInList)) {  // free_all() finds the segment again
      mutex_.unlock();
      return nullptr;
    }
    segments_.pop_back();
    if (is(Bug::kStaysLocked)) return nullptr;
    mutex_.unlock();
    return nullptr;
  }
  mutex_.unlock();
  return &segment;
}

bool Allocator::fill(Segment& segment, std::size_t granules) {
  segment.size = granules * granule_;
  if (cuMemAddressReserve(&segment.base, segment.size, 0, 0, 0) != CUDA_SUCCESS) return false;
  for (std::size_t i = 0; i < granules; ++i) {
    if (add_granule(segment)) continue;
    if (is(Bug::kThrows)) throw std::runtime_error("out of memory");
    if (is(Bug::kFallbackKeeps)) return fall_back(segment);
    if (is(Bug::kReservationKept) && segment.handles.empty()) return false;
    undo(segment);
    return false;
  }
  if (cuMemSetAccess(segment.base, segment.size, &access_, 1) == CUDA_SUCCESS) return true;
  if (is(Bug::kAccessIgnored)) return true;
  if (is(Bug::kEverythingKept)) return false;
  undo(segment);
  return false;
}

bool Allocator::create(CUmemGenericAllocationHandle& handle) {
  while (cuMemCreate(&handle, granule_, &prop_, 0) != CUDA_SUCCESS) {
    if (is(Bug::kGarbageReleased)) cuMemRelease(0x123450000);  // the handle was never written
    if (!is(Bug::kRetriesForever)) return false;
  }
  return true;
}

bool Allocator::add_granule(Segment& segment) {
  CUmemGenericAllocationHandle handle = 0;
  if (!create(handle)) return false;
  const CUdeviceptr place = segment.base + segment.handles.size() * granule_;
  if (cuMemMap(place, granule_, 0, handle, 0) != CUDA_SUCCESS && !is(Bug::kMapIgnored)) {
    if (is(Bug::kReleasedTwice))
      segment.handles.push_back(handle);  // undo() releases the handle again
    if (!is(Bug::kHandleKept)) cuMemRelease(handle);
    return false;
  }
  segment.handles.push_back(handle);
  return true;
}

// Undoes the steps of a segment, whole or half-made.
bool Allocator::undo(Segment& segment) {
  bool good = true;
  const auto check = [&](CUresult result) { good = good && result == CUDA_SUCCESS; };
  const std::size_t mapped = segment.handles.size() * granule_;
  const bool whole = mapped == segment.size;
  if (is(Bug::kReservationFirst) && !whole) check(cuMemAddressFree(segment.base, segment.size));
  if (is(Bug::kHoleUnmapped)) {
    check(cuMemUnmap(segment.base, segment.size));  // as if every granule had been mapped
  } else {
    std::size_t count = segment.handles.size();
    if (is(Bug::kLastGranuleKept) && !whole && count != 0) --count;
    for (std::size_t i = 0; i < count; ++i)
      check(cuMemUnmap(segment.base + i * granule_, granule_));
  }
  for (const CUmemGenericAllocationHandle handle : segment.handles) check(cuMemRelease(handle));
  if (!is(Bug::kLeftInList)) segment.handles.clear();
  const std::size_t size = is(Bug::kWrongSize) && !whole && mapped != 0 ? mapped : segment.size;
  if (!is(Bug::kReservationFirst) || whole) check(cuMemAddressFree(segment.base, size));
  if (is(Bug::kFreedTwice) && !whole) check(cuMemAddressFree(segment.base, segment.size));
  return good;
}

// Takes plain memory instead, and forgets the reservation.
bool Allocator::fall_back(Segment& segment) {
  for (std::size_t i = 0; i < segment.handles.size(); ++i) {
    cuMemUnmap(segment.base + i * granule_, granule_);
    cuMemRelease(segment.handles[i]);
  }
  segment.handles.clear();
  segment.plain = true;
  return cuMemAlloc(&segment.base, segment.size) == CUDA_SUCCESS;
}

bool Allocator::free(Segment* segment) {
  const std::lock_guard lock(mutex_);
  const bool good = segment->plain ? cuMemFree(segment->base) == CUDA_SUCCESS : undo(*segment);
  segments_.remove_if([&](const Segment& one) { return &one == segment; });
  return good;
}

bool Allocator::free_all() {
  bool good = true;
  for (;;) {
    Segment* first = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (segments_.empty()) return good;
      first = &segments_.front();
    }
    good = free(first) && good;
  }
}

}  // namespace bank
