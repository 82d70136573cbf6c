// SPDX-License-Identifier: Apache-2.0
// Converts a copy's or fill's call struct to the bytes that it moves.
#pragma once

#include <concepts>

#include "emulator/transfer/transfer.h"

namespace cuvmm::emulator {

namespace detail {

template <class Pointer>
Address address_of(Pointer pointer) {
  if constexpr (std::is_pointer_v<Pointer>) {
    return reinterpret_cast<Address>(pointer);
  } else {
    return pointer;
  }
}

/// One side of a 2D or 3D descriptor; `x`, `y`, `z` in bytes, rows and slices.
inline Block block(CUmemorytype type, Address host, Address device, Size pitch, Size rows_per_slice,
                   Size x, Size y, Size z) {
  Block block;
  block.pitch = pitch;
  block.slice_pitch = pitch * rows_per_slice;
  block.named = type == CU_MEMORYTYPE_HOST ? host : device;
  block.base = block.named + z * block.slice_pitch + y * pitch + x;
  return block;
}

inline Block block_of_array(CUarray array, Size x, Size y, Size z) {
  Block block;
  block.array = array;
  block.of_array = true;
  block.x = x;
  block.y = y;
  block.z = z;
  return block;
}

/// Whether `count` items from `first` on lie within `most`; `most` 0 stands for tightly packed
/// items.
inline bool holds(Size most, Size first, Size count) {
  return most == 0 || (count <= most && first <= most - count);
}

inline bool known(CUmemorytype type) {
  return type >= CU_MEMORYTYPE_HOST && type <= CU_MEMORYTYPE_UNIFIED;
}

}  // namespace detail

/// The kind of memory that holds an address.
enum class Holder { kOther, kPool, kMapping };

/// Whether a driver accepts the shape (recorded): rows and slices must not overlap, and must hold
/// whole elements. A copy of a single row is refused for its pitch, a fill of a single row is not;
/// no limit of the device bounds a pitch; an empty copy or fill is never refused. In a pool's
/// memory, or in a mapping, the offset of the copy in a row or slice does not count;
/// `holder(address)` gives the kind of memory.
template <class C, class HolderOf>
bool well_formed(const C& c, HolderOf holder) {
  if constexpr (requires { c.pCopy; }) {
    const auto& d = *c.pCopy;
    if (d.WidthInBytes == 0 || d.Height == 0) return true;
    const auto side = [&](CUmemorytype type, const void* host, Address device, Size pitch, Size x,
                          Size rows, Size y) {
      if (type == CU_MEMORYTYPE_ARRAY) return true;
      const Holder held = holder(type == CU_MEMORYTYPE_HOST ? detail::address_of(host) : device);
      const bool loose = held != Holder::kOther;
      // Any type passes where the address lies in a mapping.
      return (detail::known(type) || held == Holder::kMapping) &&
             detail::holds(pitch, loose ? 0 : x, d.WidthInBytes) &&
             detail::holds(rows, loose ? 0 : y, d.Height);
    };
    Size to_rows = 0, from_rows = 0;
    if constexpr (requires { d.Depth; }) {
      if (d.Depth == 0) return true;
      to_rows = d.dstHeight;
      from_rows = d.srcHeight;
    }
    return side(d.dstMemoryType, d.dstHost, d.dstDevice, d.dstPitch, d.dstXInBytes, to_rows,
                d.dstY) &&
           side(d.srcMemoryType, d.srcHost, d.srcDevice, d.srcPitch, d.srcXInBytes, from_rows,
                d.srcY);
  } else if constexpr (requires { c.dstPitch; }) {
    constexpr Size kElement = requires { c.uc; }
    ? 1 : requires { c.us; }
    ? 2 : 4;
    if (c.Width == 0 || c.Height == 0) return true;
    if (c.dstDevice % kElement != 0) return false;
    return c.Height == 1 || (c.dstPitch % kElement == 0 && c.Width <= c.dstPitch / kElement);
  } else {
    return true;
  }
}

/// Copies of one run of bytes; the call's parameters have the names that a copy uses.
template <class C>
requires requires(const C& c) { c.ByteCount; }
Copy plan(const C& c) {
  Copy copy;
  copy.width = c.ByteCount;
  if constexpr (requires { c.dstDevice; }) copy.to.base = c.dstDevice;
  if constexpr (requires { c.srcDevice; }) copy.from.base = c.srcDevice;
  if constexpr (requires { c.dstHost; }) copy.to.base = detail::address_of(c.dstHost);
  if constexpr (requires { c.srcHost; }) copy.from.base = detail::address_of(c.srcHost);
  if constexpr (requires { c.dst; }) copy.to.base = c.dst;
  if constexpr (requires { c.src; }) copy.from.base = c.src;
  copy.to.named = copy.to.base;
  copy.from.named = copy.from.base;
  if constexpr (requires { c.dstArray; }) {
    copy.to = detail::block_of_array(c.dstArray, c.dstOffset, 0, 0);
  }
  if constexpr (requires { c.srcArray; }) {
    copy.from = detail::block_of_array(c.srcArray, c.srcOffset, 0, 0);
  }
  return copy;
}

/// Copies by descriptor; the caller has checked that the descriptor is not null.
template <class C>
requires requires(const C& c) { c.pCopy; }
Copy plan(const C& c) {
  const auto& d = *c.pCopy;
  Copy copy;
  copy.width = d.WidthInBytes;
  copy.height = d.Height;
  // A pitch or slice height of 0 stands for tightly packed rows and slices, which include the bytes
  // before the first copied byte (recorded).
  const Size to_pitch = d.dstPitch ? d.dstPitch : d.dstXInBytes + d.WidthInBytes;
  const Size from_pitch = d.srcPitch ? d.srcPitch : d.srcXInBytes + d.WidthInBytes;
  const Address to_host = detail::address_of(d.dstHost);
  const Address from_host = detail::address_of(d.srcHost);
  if constexpr (requires { d.Depth; }) {
    copy.depth = d.Depth;
    copy.to =
        detail::block(d.dstMemoryType, to_host, d.dstDevice, to_pitch,
                      d.dstHeight ? d.dstHeight : d.dstY + d.Height, d.dstXInBytes, d.dstY, d.dstZ);
    copy.from =
        detail::block(d.srcMemoryType, from_host, d.srcDevice, from_pitch,
                      d.srcHeight ? d.srcHeight : d.srcY + d.Height, d.srcXInBytes, d.srcY, d.srcZ);
  } else {
    copy.to =
        detail::block(d.dstMemoryType, to_host, d.dstDevice, to_pitch, 0, d.dstXInBytes, d.dstY, 0);
    copy.from = detail::block(d.srcMemoryType, from_host, d.srcDevice, from_pitch, 0, d.srcXInBytes,
                              d.srcY, 0);
  }
  const auto z = [](const auto& record, bool to) -> Size {
    if constexpr (requires { record.Depth; }) return to ? record.dstZ : record.srcZ;
    return 0;
  };
  if (d.dstMemoryType == CU_MEMORYTYPE_ARRAY) {
    copy.to = detail::block_of_array(d.dstArray, d.dstXInBytes, d.dstY, z(d, true));
  }
  if (d.srcMemoryType == CU_MEMORYTYPE_ARRAY) {
    copy.from = detail::block_of_array(d.srcArray, d.srcXInBytes, d.srcY, z(d, false));
  }
  if constexpr (requires { d.srcLOD; }) {
    copy.to.lod = d.dstLOD;
    copy.from.lod = d.srcLOD;
  }
  return copy;
}

/// Fills: N elements, or Height rows of Width elements.
template <class C>
requires(
    requires(const C& c) { c.uc; } || requires(const C& c) { c.us; } ||
    requires(const C& c) { c.ui; }) Fill plan(const C& c) {
  Fill fill;
  fill.to.base = c.dstDevice;
  const auto set = [&](auto value) {
    fill.value = value;
    fill.element = sizeof value;
  };
  if constexpr (requires { c.uc; }) set(c.uc);
  if constexpr (requires { c.us; }) set(c.us);
  if constexpr (requires { c.ui; }) set(c.ui);
  if constexpr (requires { c.N; }) {
    fill.width = c.N * fill.element;
  } else {
    fill.width = c.Width * fill.element;
    fill.height = c.Height;
    fill.to.pitch = c.dstPitch;
  }
  return fill;
}

}  // namespace cuvmm::emulator
