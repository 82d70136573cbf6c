// SPDX-License-Identifier: Apache-2.0
// The runtime's description of an array element, as bits per channel, and the driver's.
#pragma once

#include <cuda.h>

#include <algorithm>
#include <iterator>

#include "emulator/runtime/abi.h"

namespace cuvmm::runtime {

/// cudaChannelFormatKind.
enum ChannelKind { kSigned = 0, kUnsigned = 1, kFloat = 2 };
inline constexpr struct {
  int kind, bits;
  CUarray_format format;
} kFormats[] = {
    {kSigned, 8, CU_AD_FORMAT_SIGNED_INT8},
    {kSigned, 16, CU_AD_FORMAT_SIGNED_INT16},
    {kSigned, 32, CU_AD_FORMAT_SIGNED_INT32},
    {kUnsigned, 8, CU_AD_FORMAT_UNSIGNED_INT8},
    {kUnsigned, 16, CU_AD_FORMAT_UNSIGNED_INT16},
    {kUnsigned, 32, CU_AD_FORMAT_UNSIGNED_INT32},
    {kFloat, 16, CU_AD_FORMAT_HALF},
    {kFloat, 32, CU_AD_FORMAT_FLOAT},
};

/// Writes Format and NumChannels. False for a format other than 1, 2 or 4 equal channels: planar,
/// normalised and compressed formats are not emulated.
inline bool convert(const ChannelFormat& from, CUDA_ARRAY3D_DESCRIPTOR& to) {
  const auto* end = std::end(from.bits);
  const auto* last = std::find(from.bits, end, 0);
  const auto channels = static_cast<unsigned>(last - from.bits);
  const bool equal = std::all_of(from.bits, last, [&](int bits) { return bits == from.bits[0]; });
  if (!equal || std::any_of(last, end, [](int bits) { return bits != 0; })) return false;
  if (channels != 1 && channels != 2 && channels != 4) return false;
  for (const auto& known : kFormats) {
    if (known.kind != from.kind || known.bits != from.bits[0]) continue;
    to.Format = known.format;
    to.NumChannels = channels;
    return true;
  }
  return false;
}

/// The runtime's description; without channels where the format is none of the above.
inline ChannelFormat format_of(const CUDA_ARRAY3D_DESCRIPTOR& from) {
  ChannelFormat to{};
  for (const auto& known : kFormats) {
    if (known.format != from.Format) continue;
    to.kind = known.kind;
    std::fill_n(to.bits, std::min(from.NumChannels, 4U), known.bits);
  }
  return to;
}

}  // namespace cuvmm::runtime
