// SPDX-License-Identifier: Apache-2.0
// A device's multiprocessors as a resource, parts of it, and their descriptions. The answers that
// no H100 gave follow the documentation.
#include "emulator/context/device_resource.h"

#include <algorithm>
#include <cstring>

#include "emulator/core/export.h"
#include "emulator/core/locked.h"
#include "emulator/machine/device_attributes.h"

namespace cuvmm::emulator {

namespace {

// The contents of a resource, in the bytes that the header reserves for the driver. A resource that
// the program made up lacks kMark.
struct Stamp {
  std::uint64_t mark = 0;
  int device = 0;
  unsigned count = 0;
  unsigned first = 0;
  unsigned whole = 0;  ///< 1: the whole device's, which may be split; 0: a part
};
constexpr std::uint64_t kMark = 0x6375766d6d736d73;
static_assert(sizeof(Stamp) <= sizeof CUdevResource::_internal_padding);

// How a GPU of compute capability 9.0 groups multiprocessors: clusters of thread blocks need eight
// together; groups that need no clusters may be multiples of two.
constexpr unsigned kTogether = 8;
constexpr unsigned kAlone = 2;
constexpr unsigned kIgnoreCoscheduling = 1;  // CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING
constexpr unsigned kLargestClusters = 2;     // CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE

Stamp stamp_of(const CUdevResource& resource) {
  Stamp stamp;
  std::memcpy(&stamp, resource._internal_padding, sizeof stamp);
  return stamp;
}

unsigned multiprocessors(const Emulator& e) {
  constexpr int kWhich = CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
  auto count = e.profile.attribute(kWhich, e.device_count());
  if (!count) count = default_attribute(kWhich);
  return static_cast<unsigned>(count.value_or(0));
}

void write(CUdevResource& out, const Stamp& stamp) {
  std::memset(&out, 0, sizeof out);
  if (stamp.count == 0) return;  // CU_DEV_RESOURCE_TYPE_INVALID
  out.type = CU_DEV_RESOURCE_TYPE_SM;
  out.sm.smCount = stamp.count;
  std::memcpy(out._internal_padding, &stamp, sizeof stamp);
}

CUresult write_whole(const Emulator& e, int device, CUdevResource* out, CUdevResourceType type) {
  return write_resource(whole_device(e, device), true, out, type);
}

// The resources of a description: the multiprocessors from the first to the last of them. The same
// part may be named twice (an H100).
CUresult join(const Emulator& e, const CUdevResource* parts, unsigned count, DevicePart& out) {
  for (unsigned i = 0; i < count; ++i) {
    if (parts[i].type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    const Stamp stamp = stamp_of(parts[i]);
    const bool known = stamp.mark == kMark && e.valid_device(stamp.device);
    if (!known || (i != 0 && stamp.device != out.device)) return CUDA_ERROR_INVALID_VALUE;
    const unsigned first = i == 0 ? stamp.first : std::min(out.first, stamp.first);
    const unsigned end = std::max(i == 0 ? 0 : out.first + out.count, stamp.first + stamp.count);
    out = {stamp.device, first, end - first};
  }
  return CUDA_SUCCESS;
}

struct Split {
  unsigned size = 0;    ///< multiprocessors in a group
  unsigned groups = 0;  ///< the largest number of groups
};

Split split_of(unsigned count, unsigned least, unsigned flags) {
  const unsigned step = flags & kIgnoreCoscheduling ? kAlone : kTogether;
  const unsigned size = (std::max(least, 1U) + step - 1) / step * step;
  return {size, count / size};
}

}  // namespace

DevicePart whole_device(const Emulator& e, int device) { return {device, 0, multiprocessors(e)}; }

CUresult write_resource(const DevicePart& part, bool whole, CUdevResource* out,
                        CUdevResourceType type) {
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
  write(*out, {kMark, part.device, part.count, part.first, whole});
  return CUDA_SUCCESS;
}

CUVMM_DRIVER_FUNCTION(cuDeviceGetDevResource, CUdevice device, CUdevResource* out,
                      CUdevResourceType type) {
  return locked([&](Emulator& e) -> CUresult {
    if (!e.valid_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    return write_whole(e, device, out, type);
  });
}

CUVMM_DRIVER_FUNCTION(cuCtxGetDevResource, CUcontext handle, CUdevResource* out,
                      CUdevResourceType type) {
  return locked([&](Emulator& e) -> CUresult {
    const Context* context = e.contexts.find_itself(handle);
    if (!context || !context->alive) return CUDA_ERROR_INVALID_CONTEXT;
    if (context->shares) return write_resource(context->part, true, out, type);
    return write_whole(e, context->device, out, type);
  });
}

CUVMM_DRIVER_FUNCTION(cuDevSmResourceSplitByCount, CUdevResource* groups, unsigned* count,
                      const CUdevResource* whole, CUdevResource* remainder, unsigned flags,
                      unsigned least) {
  return locked([&](Emulator& e) -> CUresult {
    if (!count || !whole || (flags & ~(kIgnoreCoscheduling | kLargestClusters)) != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (whole->type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    const Stamp stamp = stamp_of(*whole);
    if (stamp.mark != kMark || !e.valid_device(stamp.device) || stamp.count > multiprocessors(e) ||
        least > stamp.count) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    // A part can be split again only through a green context.
    if (!stamp.whole) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    const Split split = split_of(stamp.count, least, flags);
    if (split.groups == 0) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    const unsigned made = groups ? std::min(*count, split.groups) : split.groups;
    for (unsigned i = 0; groups && i < made; ++i) {
      write(groups[i], {kMark, stamp.device, split.size, stamp.first + i * split.size, 0});
    }
    const unsigned used = made * split.size;
    if (remainder)
      write(*remainder, {kMark, stamp.device, stamp.count - used, stamp.first + used, 0});
    *count = made;
    return CUDA_SUCCESS;
  });
}

// Without resources a driver dies (an H100).
CUVMM_DRIVER_FUNCTION(cuDevResourceGenerateDesc, CUdevResourceDesc* out, CUdevResource* parts,
                      unsigned count) {
  return locked([&](Emulator& e) -> CUresult {
    if (!out || !parts || count == 0) return CUDA_ERROR_INVALID_VALUE;
    DevicePart all;
    const CUresult result = join(e, parts, count, all);
    if (result == CUDA_SUCCESS) *out = e.contexts.describe(all);
    return result;
  });
}

}  // namespace cuvmm::emulator
