// SPDX-License-Identifier: Apache-2.0
#include "rulebook/check/touch.h"

namespace cuvmm {

namespace {

using Out = Touch (&)[kMaxTouches];

Touch read(const char* parameter, std::uint64_t base, std::uint64_t width) {
  return {.base = base, .width = width, .parameter = parameter};
}
Touch write(const char* parameter, std::uint64_t base, std::uint64_t width) {
  return {.base = base, .width = width, .write = true, .parameter = parameter};
}

std::uint64_t at(const void* host) { return reinterpret_cast<std::uintptr_t>(host); }

Touch on_device(Touch touch) {
  touch.device_only = true;
  return touch;
}

Touch from_host(std::uint64_t base, std::uint64_t width) {
  Touch touch = on_device(write("dstDevice", base, width));
  touch.from_host = true;
  return touch;
}
Touch fill(std::uint64_t base, std::uint64_t count, unsigned char element = 1) {
  return {.base = base,
          .width = count * element,
          .write = true,
          .fill = true,
          .element = element,
          .parameter = "dstDevice"};
}

std::size_t one(Out out, std::uint64_t bytes, Touch touch) {
  if (bytes == 0) return 0;
  out[0] = touch;
  return 1;
}
std::size_t two(Out out, std::uint64_t bytes, Touch first, Touch second) {
  if (bytes == 0) return 0;
  out[0] = first;
  out[1] = second;
  return 2;
}

// A fill of `height` rows of `count` elements.
std::size_t fill2d(Out out, std::uint64_t base, std::uint64_t pitch, std::uint64_t row_bytes,
                   std::uint64_t height) {
  if (row_bytes == 0 || height == 0) return 0;
  out[0] = fill(base, row_bytes);
  out[0].pitch = height > 1 ? pitch : row_bytes;
  out[0].rows = height;
  return 1;
}

bool device_side(CUmemorytype type) {
  return type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED;
}

template <class Copy>
std::size_t copy2d(Out out, const Copy* copy) {
  if (!copy || copy->WidthInBytes == 0 || copy->Height == 0) return 0;
  std::size_t n = 0;
  const auto add = [&](const char* parameter, CUmemorytype type, std::uint64_t base,
                       std::uint64_t pitch, std::uint64_t x, std::uint64_t y, bool is_write) {
    if (!device_side(type)) return;
    // A pitch of 0 means tightly packed rows.
    const std::uint64_t row = pitch ? pitch : copy->WidthInBytes;
    out[n++] = {.base = base + y * row + x,
                .width = copy->WidthInBytes,
                .pitch = row,
                .rows = copy->Height,
                .write = is_write,
                .device_only = type == CU_MEMORYTYPE_DEVICE,
                .from_host = is_write && copy->srcMemoryType == CU_MEMORYTYPE_HOST,
                .parameter = parameter};
  };
  add("pCopy->dstDevice", copy->dstMemoryType, copy->dstDevice, copy->dstPitch, copy->dstXInBytes,
      copy->dstY, true);
  add("pCopy->srcDevice", copy->srcMemoryType, copy->srcDevice, copy->srcPitch, copy->srcXInBytes,
      copy->srcY, false);
  return n;
}

struct Side {
  const char* parameter;
  CUmemorytype type;
  std::uint64_t base, pitch, height, x, y, z;
  bool write;
};

template <class Copy>
std::size_t copy3d(Out out, const Copy* copy) {
  if (!copy || copy->WidthInBytes == 0 || copy->Height == 0 || copy->Depth == 0) return 0;
  std::size_t n = 0;
  const Side sides[] = {
      {"pCopy->dstDevice", copy->dstMemoryType, copy->dstDevice, copy->dstPitch, copy->dstHeight,
       copy->dstXInBytes, copy->dstY, copy->dstZ, true},
      {"pCopy->srcDevice", copy->srcMemoryType, copy->srcDevice, copy->srcPitch, copy->srcHeight,
       copy->srcXInBytes, copy->srcY, copy->srcZ, false},
  };
  for (const Side& side : sides) {
    if (!device_side(side.type)) continue;
    const std::uint64_t row = side.pitch ? side.pitch : copy->WidthInBytes;
    const std::uint64_t slice = row * (side.height ? side.height : copy->Height);
    out[n++] = {.base = side.base + side.z * slice + side.y * row + side.x,
                .width = copy->WidthInBytes,
                .pitch = row,
                .rows = copy->Height,
                .slices = copy->Depth,
                .slice_pitch = slice,
                .write = side.write,
                .device_only = side.type == CU_MEMORYTYPE_DEVICE,
                .from_host = side.write && copy->srcMemoryType == CU_MEMORYTYPE_HOST,
                .parameter = side.parameter};
  }
  return n;
}

std::size_t peer3d(Out out, const CUDA_MEMCPY3D_PEER* copy) {
  const std::size_t n = copy3d(out, copy);
  for (std::size_t i = 0; i < n; ++i) {
    out[i].peer_source = !out[i].write;
    out[i].context = out[i].write ? copy->dstContext : copy->srcContext;
  }
  return n;
}

template <class Call>
std::size_t peer(const Call& c, Out out) {
  Touch to = write("dstDevice", c.dstDevice, c.ByteCount);
  Touch from = read("srcDevice", c.srcDevice, c.ByteCount);
  to.context = c.dstContext;
  from.context = c.srcContext;
  from.peer_source = true;
  return two(out, c.ByteCount, to, from);
}

}  // namespace

// Each copy and fill has a synchronous form and mostly one with a stream; both touch the same
// bytes.
#define CUVMM_TOUCH(Name, ...) \
  std::size_t touches(const calls::Name& c, Out out) { return __VA_ARGS__; }
#define CUVMM_TOUCH_BOTH(Name, ...) \
  CUVMM_TOUCH(Name, __VA_ARGS__)    \
  CUVMM_TOUCH(Name##Async, __VA_ARGS__)
#define CUVMM_TOUCH_NOTHING(Name) \
  std::size_t touches(const calls::Name&, Out) { return 0; }

CUVMM_TOUCH_BOTH(Memcpy, two(out, c.ByteCount, write("dst", c.dst, c.ByteCount),
                             read("src", c.src, c.ByteCount)))
CUVMM_TOUCH_BOTH(MemcpyPeer, peer(c, out))
CUVMM_TOUCH_BOTH(MemcpyHtoA, one(out, c.ByteCount, read("srcHost", at(c.srcHost), c.ByteCount)))
CUVMM_TOUCH_BOTH(MemcpyAtoH, one(out, c.ByteCount, write("dstHost", at(c.dstHost), c.ByteCount)))
CUVMM_TOUCH_BOTH(MemcpyHtoD, one(out, c.ByteCount, from_host(c.dstDevice, c.ByteCount)))
CUVMM_TOUCH_BOTH(MemcpyDtoH,
                 one(out, c.ByteCount, on_device(read("srcDevice", c.srcDevice, c.ByteCount))))
CUVMM_TOUCH_BOTH(MemcpyDtoD,
                 two(out, c.ByteCount, on_device(write("dstDevice", c.dstDevice, c.ByteCount)),
                     on_device(read("srcDevice", c.srcDevice, c.ByteCount))))
CUVMM_TOUCH(MemcpyDtoA,
            one(out, c.ByteCount, on_device(read("srcDevice", c.srcDevice, c.ByteCount))))
CUVMM_TOUCH(MemcpyAtoD,
            one(out, c.ByteCount, on_device(write("dstDevice", c.dstDevice, c.ByteCount))))
CUVMM_TOUCH_BOTH(Memcpy2D, copy2d(out, c.pCopy))
CUVMM_TOUCH(Memcpy2DUnaligned, copy2d(out, c.pCopy))
CUVMM_TOUCH_BOTH(Memcpy3D, copy3d(out, c.pCopy))
CUVMM_TOUCH_BOTH(Memcpy3DPeer, peer3d(out, c.pCopy))
CUVMM_TOUCH_BOTH(MemsetD8, one(out, c.N, fill(c.dstDevice, c.N)))
CUVMM_TOUCH_BOTH(MemsetD16, one(out, c.N, fill(c.dstDevice, c.N, 2)))
CUVMM_TOUCH_BOTH(MemsetD32, one(out, c.N, fill(c.dstDevice, c.N, 4)))
CUVMM_TOUCH_BOTH(MemsetD2D8, fill2d(out, c.dstDevice, c.dstPitch, c.Width, c.Height))
CUVMM_TOUCH_BOTH(MemsetD2D16, fill2d(out, c.dstDevice, c.dstPitch, c.Width * 2, c.Height))
CUVMM_TOUCH_BOTH(MemsetD2D32, fill2d(out, c.dstDevice, c.dstPitch, c.Width * 4, c.Height))
CUVMM_TOUCH_NOTHING(MemAddressReserve)
CUVMM_TOUCH_NOTHING(MemAddressFree)
CUVMM_TOUCH_NOTHING(MemCreate)
CUVMM_TOUCH_NOTHING(MemRelease)
CUVMM_TOUCH_NOTHING(MemMap)
CUVMM_TOUCH_NOTHING(MemUnmap)
CUVMM_TOUCH_NOTHING(MemSetAccess)
CUVMM_TOUCH_NOTHING(MemGetAccess)
CUVMM_TOUCH_NOTHING(MemExportToShareableHandle)
CUVMM_TOUCH_NOTHING(MemImportFromShareableHandle)
CUVMM_TOUCH_NOTHING(MemGetAllocationGranularity)
CUVMM_TOUCH_NOTHING(MemGetAllocationPropertiesFromHandle)
CUVMM_TOUCH_NOTHING(MemRetainAllocationHandle)
CUVMM_TOUCH_NOTHING(MemGetHandleForAddressRange)
CUVMM_TOUCH_NOTHING(MemFree)
CUVMM_TOUCH_NOTHING(MemFreeAsync)

}  // namespace cuvmm
