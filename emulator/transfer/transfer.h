// SPDX-License-Identifier: Apache-2.0
// Copies and fills in one form for all of the calls.
#pragma once

#include <optional>

#include "emulator/core/emulator.h"
#include "rulebook/check/touch.h"

namespace cuvmm::emulator {

/// One side of a copy: depth x height runs of bytes from `base`, device or host address, or from
/// (x, y, z) of an array; x in bytes.
struct Block {
  Address base = 0;
  Address named = 0;     ///< the address in the call; the first row may begin after it
  Size pitch = 0;        ///< bytes from row to row
  Size slice_pitch = 0;  ///< bytes from slice to slice
  CUarray array = nullptr;
  bool of_array = false;
  Size x = 0, y = 0, z = 0;
  Size lod = 0;  ///< a driver takes 0 only (recorded)
};

struct Copy {
  Block to, from;
  Size width = 0;  ///< bytes of a row
  Size height = 1;
  Size depth = 1;
  bool arrays() const { return to.of_array || from.of_array; }
  bool empty() const { return width == 0 || height == 0 || depth == 0; }
};

struct Fill {
  Block to;
  Size width = 0;  ///< bytes of a row
  Size height = 1;
  unsigned value = 0;
  unsigned element = 1;  ///< bytes of the value: 1, 2 or 4
};

/// Moves the bytes, after the check of both sides; INVALID_VALUE where an address has no memory all
/// the same, OUT_OF_MEMORY when the host has no memory left.
CUresult execute(Emulator&, const Copy&);
CUresult execute(Emulator&, const Fill&);

/// Checks a copy before its bytes: refuses rows that leave an array or page-locked memory.
CUresult check_sides(const Emulator&, const Copy&);

/// Checks bytes that no mapping holds: SUCCESS where the whole run lies inside one cuMemAlloc
/// allocation or page-locked block, or, with `pageable`, in any host memory. INVALID_VALUE
/// otherwise.
CUresult check_unmapped(const Emulator&, const Touch&, bool pageable);

/// The answer of the profile's driver where it refuses the memory that a copy or fill touches
/// although no rule is broken; `by`: the context that performs it.
std::optional<CUresult> quirk(const Emulator&, const Touch&, const Context& by);

}  // namespace cuvmm::emulator
