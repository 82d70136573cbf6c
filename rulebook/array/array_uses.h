// SPDX-License-Identifier: Apache-2.0
// The parts of arrays that copies read and write.
#pragma once

#include <cstddef>
#include <cstdint>

#include "api/calls.h"
#include "rulebook/model/model.h"

namespace cuvmm {

/// A box in an array: an offset, and a number of bytes, rows and slices.
struct ArrayUse {
  CUarray array = nullptr;
  const char* parameter = "";
  std::uint64_t x = 0, y = 0, z = 0;
  std::uint64_t width = 0, rows = 1, slices = 1;
  bool elements = false;  ///< x and width count elements of the array, not bytes
};
inline constexpr std::size_t kMostArrayUses = 2;

/// A copy that has an array on one side, or may have one.
template <class CallStruct>
inline constexpr bool kMayUseArrays = requires(const CallStruct& c) {
  c.dstArray;
}
|| requires(const CallStruct& c) { c.srcArray; }
|| requires(const CallStruct& c) { c.pCopy; };

namespace detail {

template <class Record>
std::size_t array_uses_of(const Record& copy, ArrayUse (&out)[kMostArrayUses]) {
  ArrayUse both[] = {{copy.dstArray, "pCopy->dstArray", copy.dstXInBytes, copy.dstY, 0,
                      copy.WidthInBytes, copy.Height},
                     {copy.srcArray, "pCopy->srcArray", copy.srcXInBytes, copy.srcY, 0,
                      copy.WidthInBytes, copy.Height}};
  if constexpr (requires { copy.Depth; }) {
    both[0].z = copy.dstZ;
    both[1].z = copy.srcZ;
    both[0].slices = both[1].slices = copy.Depth;
  }
  if (both[0].width == 0 || both[0].rows == 0 || both[0].slices == 0) return 0;
  std::size_t count = 0;
  if (copy.dstMemoryType == CU_MEMORYTYPE_ARRAY) out[count++] = both[0];
  if (copy.srcMemoryType == CU_MEMORYTYPE_ARRAY) out[count++] = both[1];
  return count;
}

}  // namespace detail

/// Fills `out` and returns the number of uses; 0 for copies of nothing.
template <class CallStruct>
requires kMayUseArrays<CallStruct> std::size_t array_uses(const CallStruct& call,
                                                          ArrayUse (&out)[kMostArrayUses]) {
  if constexpr (requires { call.pCopy; }) {
    return call.pCopy ? detail::array_uses_of(*call.pCopy, out) : 0;
  } else {
    if (call.ByteCount == 0) return 0;
    std::size_t count = 0;
    if constexpr (requires { call.dstArray; }) {
      out[count++] = {call.dstArray, "dstArray", call.dstOffset, 0, 0, call.ByteCount};
    }
    if constexpr (requires { call.srcArray; }) {
      out[count++] = {call.srcArray, "srcArray", call.srcOffset, 0, 0, call.ByteCount};
    }
    return count;
  }
}
/// The same for one copy of a batch.
std::size_t array_uses(const CUDA_MEMCPY3D_BATCH_OP& copy, ArrayUse (&out)[kMostArrayUses]);

/// Checks that each array is alive and holds the bytes that are copied. Reports nothing about
/// arrays that the model does not know. A finding is never certain, because a driver may have given
/// the handle to another array.
Violations check_array_uses(const Model& model, const ArrayUse* uses, std::size_t count);

}  // namespace cuvmm
