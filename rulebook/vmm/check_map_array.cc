// SPDX-License-Identifier: Apache-2.0
// cuMemMapArrayAsync: tiles of sparse arrays.
#include <bit>

#include "api/location.h"
#include "rulebook/array/check_region.h"
#include "rulebook/check/check_support.h"
#include "rulebook/sharing/check_external.h"

namespace cuvmm {
using namespace detail;

namespace {

constexpr unsigned kTilePool = CU_MEM_CREATE_USAGE_TILE_POOL;

// The driver ignores the subresource of arrays for deferred mapping. If the model did not see the
// array being made, it does not know whether the array is one of them.
void check_subresource(Collector& out, const CUarrayMapInfo& info, const ArrayObject* array) {
  if (array && array->deferred()) return;
  const bool sure = array != nullptr;
  if (info.subresourceType == CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL) {
    if (info.subresource.miptail.size == 0) {
      out.add(Rule::kArrayExtentNonzero, "the mip tail's size is 0", sure);
    } else if (array) {
      check_region(out, *array, info);
    }
    return;
  }
  if (info.subresourceType != CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL) {
    out.add(Rule::kArraySubresourceType,
            "subresourceType is " + std::to_string(static_cast<int>(info.subresourceType)), sure);
    return;
  }
  const auto& level = info.subresource.sparseLevel;
  if (info.resourceType == CU_RESOURCE_TYPE_ARRAY && level.level != 0) {
    out.add(Rule::kArrayLevelZero, "level is " + std::to_string(level.level), sure);
    array = nullptr;  // the array that the subresource belongs to is unknown
  }
  if (level.extentWidth == 0 || level.extentHeight == 0 || level.extentDepth == 0) {
    out.add(Rule::kArrayExtentNonzero,
            "the extent is " + std::to_string(level.extentWidth) + " x " +
                std::to_string(level.extentHeight) + " x " + std::to_string(level.extentDepth),
            sure);
  } else if (array) {
    check_region(out, *array, info);
  }
}

// The device that the mask names, or -1.
int check_device(Collector& out, const Model& model, const CUarrayMapInfo& info,
                 const Facts& facts) {
  const int count = model.platform().device_count;
  const int device = std::countr_zero(info.deviceBitMask);
  if (std::popcount(info.deviceBitMask) != 1 || (count >= 0 && device >= count)) {
    out.add(Rule::kArrayOneDevice, "deviceBitMask is " + hex_text(info.deviceBitMask));
    return -1;
  }
  if (facts.place.device != Facts::kUnknownDevice && facts.place.device != device) {
    out.add(Rule::kArrayStreamDevice, "deviceBitMask names device " + std::to_string(device) +
                                          "; the stream is of device " +
                                          std::to_string(facts.place.device));
  }
  return device;
}

void check_memory(Collector& out, const Model& model, const CUarrayMapInfo& info, int device,
                  const ArrayObject* array, const Facts& facts) {
  const Allocation* a = check_handle(out, model, info.memHandle.memHandle,
                                     {Rule::kArrayHandleNonzero, Rule::kArrayHandleValid,
                                      Rule::kArrayHandleAlive, Rule::kArrayHandleReferenced},
                                     facts);
  if (!a) return;
  const CUmemLocation& location = a->prop.location;
  if (a->prop_known && !(a->prop.allocFlags.usage & kTilePool)) {
    out.add(Rule::kArrayTilePool,
            handle_text(a->handle) + " was created without CU_MEM_CREATE_USAGE_TILE_POOL")
        .objects.push_back(ref(*a));
  }
  const bool there = is_device(location) && device_of(location) == device;
  // A multicast object lies on no device.
  if (a->prop_known && !a->multicast && device >= 0 && !there) {
    out.add(Rule::kArrayMemoryDevice, "deviceBitMask names device " + std::to_string(device) +
                                          "; the memory is on " + detail::location(location))
        .objects.push_back(ref(*a));
  }
  if (a->size != 0 && info.offset >= a->size) {
    out.add(Rule::kArrayOffsetInside,
            "offset is " + size_text(info.offset) + ", in memory of " + size_text(a->size))
        .objects.push_back(ref(*a));
    return;
  }
  const std::uint64_t size = array ? region_size(*array, info) : 0;
  if (a->size != 0 && size > a->size - info.offset) {
    // The documentation does not say that the region must fit, so this needs the driver's refusal.
    out.add(Rule::kArrayMemoryRoom,
            "the region needs " + size_text(size) + " from offset " + size_text(info.offset) +
                " on, in memory of " + size_text(a->size),
            false)
        .objects.push_back(ref(*a));
  }
}

void check_entry(Collector& out, const Model& model, const CUarrayMapInfo& info,
                 const Facts& facts) {
  if (info.resourceType != CU_RESOURCE_TYPE_ARRAY &&
      info.resourceType != CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) {
    out.add(Rule::kArrayResourceType,
            "resourceType is " + std::to_string(static_cast<int>(info.resourceType)));
  }
  const ArrayObject* const array = check_resource(out, model, info);
  check_subresource(out, info, array);
  if (info.memHandleType != CU_MEM_HANDLE_TYPE_GENERIC) {
    out.add(Rule::kArrayHandleType,
            "memHandleType is " + std::to_string(static_cast<int>(info.memHandleType)));
  }
  if (info.flags != 0) out.add(Rule::kArrayFlagsZero, "flags is " + hex_text(info.flags));
  check_reserved(out, info.reserved, Rule::kArrayReservedZero);
  const int device = check_device(out, model, info, facts);
  if (info.memOperationType == CU_MEM_OPERATION_TYPE_MAP) {
    check_memory(out, model, info, device, array, facts);
  } else if (info.memOperationType != CU_MEM_OPERATION_TYPE_UNMAP) {
    out.add(Rule::kArrayOperation,
            "memOperationType is " + std::to_string(static_cast<int>(info.memOperationType)));
  } else if (info.memHandle.memHandle != 0) {
    out.add(Rule::kArrayUnmapHandle, "UNMAP names " + handle_text(info.memHandle.memHandle));
  }
  if (!info.resource.array) out.add(Rule::kArrayResourceNonnull, "the array is NULL");
}

}  // namespace

Violations check(const Model& model, const calls::MemMapArrayAsync& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  if (call.count == 0) return out.take();
  if (!call.mapInfoList) {
    out.add(Rule::kArrayListNonnull, "mapInfoList is NULL");
    return out.take();
  }
  Violations all;
  for (unsigned i = 0; i < call.count; ++i) {
    Collector one;
    check_entry(one, model, call.mapInfoList[i], facts);
    Violations found = one.take();
    for (Violation& v : found) {
      if (call.count > 1) v.message = "entry " + std::to_string(i) + ": " + v.message;
      all.push_back(std::move(v));
    }
  }
  return all;
}

}  // namespace cuvmm
