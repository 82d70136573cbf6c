// SPDX-License-Identifier: Apache-2.0
// The byte ranges that a copy or fill touches. One check reads them, instead of one check per
// function.
#pragma once

#include <cstddef>
#include <cstdint>

#include "api/calls.h"

namespace cuvmm {

/// rows x slices runs of `width` bytes, `pitch` bytes from row to row. A plain range has one row.
struct Touch {
  std::uint64_t base = 0;
  std::uint64_t width = 0;
  std::uint64_t pitch = 0;
  std::uint64_t rows = 1;
  std::uint64_t slices = 1;
  std::uint64_t slice_pitch = 0;
  bool write = false;
  bool fill = false;            ///< a fill runs on the device; a copy may run on the CPU
  unsigned char element = 1;    ///< bytes of a fill's element
  bool device_only = false;     ///< the parameter takes device memory, not any unified address
  bool on_gpu = false;          ///< the device touches it, never the CPU
  bool from_host = false;       ///< the source of the written bytes is memory of the host
  bool peer_source = false;     ///< touched by Facts::peer_device instead of Facts::device
  const char* parameter = "";   ///< "dstDevice", "srcDevice", ...
  CUcontext context = nullptr;  ///< for peer copies: the context named for this side
};

inline constexpr std::size_t kMaxTouches = 2;

/// Fills `out` with the address ranges that a copy or fill touches on the device side (unified
/// copies: both sides), and returns their number: 0 for every other call, and for copies of
/// nothing. Reads descriptors through the call's pointers; a null descriptor touches nothing. Calls
/// with many operations use operations.h instead.
#define CUVMM_ENTRY(Name, area, ...) \
  std::size_t touches(const calls::Name&, Touch(&out)[kMaxTouches]);
#include "api/entry_points.def"

}  // namespace cuvmm
