// SPDX-License-Identifier: Apache-2.0
// Makes the programs of a recording's seed.
#pragma once

#include "fuzz/ops/op.h"
#include "fuzz/record/abridged.h"

namespace cuvmm::fuzz {

/// Which generator made a recording's programs; the values are part of the file format. 1 was a
/// generator without external memory, pools and IPC, which no recording needs any more.
enum class Programs : std::uint8_t {
  kAreas = 2,  ///< fuzz/generate/ with the rules that could be planted on 22 November 2026
  kToday,      ///< fuzz/generate/ as it is, without the families of calls that came later
  kFurther,  ///< fuzz/generate/ with the families of 28 November 2026: captures, arrays and others
  kTiles,    ///< fuzz/generate/ as it is, with sparse arrays, too
  kCount
};

Ops program_of(Programs programs, std::uint64_t seed, std::uint64_t number, int devices,
               int processes);

ProgramBytes bytes_of(const Ops& ops);
Ops ops_of(const ProgramBytes& bytes);

}  // namespace cuvmm::fuzz
