// SPDX-License-Identifier: Apache-2.0
// What a copy or fill moves, in one form for all of these calls.
#pragma once

#include <optional>

#include "emulator/core/emulator.h"
#include "rulebook/check/touch.h"

namespace cuvmm::emulator {

/// One side of a copy: depth x height runs of bytes from `base`, device or host address.
struct Block {
  Address base = 0;
  Address named = 0;     ///< the address in the call; the first row may begin behind it
  Size pitch = 0;        ///< bytes from row to row
  Size slice_pitch = 0;  ///< bytes from slice to slice
};

struct Copy {
  Block to, from;
  Size width = 0;  ///< bytes of a row
  Size height = 1;
  Size depth = 1;
  bool arrays = false;  ///< a side is a CUDA array; the emulator copies none
};

struct Fill {
  Block to;
  Size width = 0;  ///< bytes of a row
  Size height = 1;
  unsigned value = 0;
  unsigned element = 1;  ///< bytes of the value: 1, 2 or 4
};

/// Moves the bytes. Both sides were checked; INVALID_VALUE where nothing is behind an address all
/// the same, OUT_OF_MEMORY when the host has none left.
CUresult execute(Emulator&, const Copy&);
CUresult execute(Emulator&, const Fill&);

/// What is wrong with a copy before any byte is looked at: arrays, which are not emulated, and what
/// leaves page-locked memory.
CUresult check_sides(const Emulator&, const Copy&);

/// Whether bytes that no mapping holds are memory of another kind: a whole run inside one
/// cuMemAlloc allocation or page-locked block; `pageable` admits any host memory. INVALID_VALUE
/// otherwise.
CUresult check_unmapped(const Emulator&, const Touch&, bool pageable);

/// What the profile's driver refuses of what a copy or fill touches though no rule is broken; `by`:
/// the context that performs it.
std::optional<CUresult> quirk(const Emulator&, const Touch&, const Context& by);

}  // namespace cuvmm::emulator
