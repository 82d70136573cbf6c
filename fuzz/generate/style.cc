// SPDX-License-Identifier: Apache-2.0
#include "fuzz/generate/style.h"

#include <algorithm>

namespace cuvmm::fuzz {

namespace {
constexpr std::uint64_t bit(Code code) { return std::uint64_t{1} << static_cast<unsigned>(code); }
constexpr std::uint64_t kExternalMemory =
    bit(Code::kExtImport) | bit(Code::kExtBuffer) | bit(Code::kExtDestroy);
constexpr std::uint64_t from_to(Code first, Code last) { return (bit(last) << 1) - bit(first); }
constexpr std::uint64_t kPools = from_to(Code::kPoolCreate, Code::kPointerImport);
constexpr std::uint64_t kLegacy = from_to(Code::kAlloc, Code::kIpcClose);

/// Calls from kFirstFurther on that belong together, and the other calls that they need.
struct Family {
  Code first, last;
  std::uint64_t needs;
};
constexpr Family kFamilies[] = {
    {Code::kPoolTrim, Code::kPoolTell, kPools}, {Code::kPlaceDefault, Code::kPlaceSet, kPools},
    {Code::kWriteWord, Code::kWordBatch, 0},    {Code::kPrefetch, Code::kAdvise, 0},
    {Code::kWhereIs, Code::kWhereIs, 0},        {Code::kArrayMake, Code::kArrayCopy, 0},
    {Code::kStreamMake, Code::kGraphEnd, 0},    {Code::kTileCreate, Code::kMipmapTilesMap, 0}};

void add_further(Random& random, bool tiles, Style& style) {
  constexpr auto kFirst = static_cast<unsigned>(kFirstFurther);
  for (const Family& family : kFamilies) {
    if ((family.first == Code::kTileCreate && !tiles) || !random.chance(30)) continue;
    for (auto code = static_cast<unsigned>(family.first);
         code <= static_cast<unsigned>(family.last); ++code) {
      style.further |= std::uint64_t{1} << (code - kFirst);
    }
    style.enabled |= family.needs;
  }
  // Blocks of rows belong to the arrays.
  const auto bit_of = [](Code code) {
    return std::uint64_t{1} << (static_cast<unsigned>(code) - kFirst);
  };
  if (style.further & (bit_of(Code::kArrayMake) | bit_of(Code::kTiledMake))) {
    style.further |= bit_of(Code::kBlockFill) | bit_of(Code::kBlockCopy);
  }
  // So do the copies of a sparse array's first row, its end, and the levels of a sparse one.
  if (style.further & bit_of(Code::kTiledMake)) {
    style.further |= bit_of(Code::kArrayWrite) | bit_of(Code::kArrayRead) |
                     bit_of(Code::kArrayEnd) | bit_of(Code::kMipmapLevel) |
                     bit_of(Code::kMipmapEnd);
  }
}
}  // namespace

Style swarm(Random& random, const Scope& scope) {
  Style style;
  style.devices = scope.devices;
  style.ops = 5 + random.below(50);
  style.granules = random.chance(30) ? 2 + random.below(3) : 4 + random.below(12);
  style.pieces = 1 + random.below(random.chance(70) ? 2 : 5);
  style.faults = random.chance(40) ? 0 : random.chance(70) ? 5 : 25;
  style.threads = random.chance(90) ? 1 : 1 + random.below(kThreads);
  if (random.chance(50)) {
    // All programs keep the calls that other calls need.
    constexpr std::uint64_t kAlways = bit(Code::kReserve) | bit(Code::kCreate) | bit(Code::kMap);
    style.enabled = kAlways | random.next() >> 8;
  }
  if (!random.chance(40)) style.enabled &= ~kExternalMemory;
  if (!random.chance(35)) style.enabled &= ~kPools;
  if (!random.chance(35)) style.enabled &= ~kLegacy;
  style.multicast = scope.multicast && random.chance(30);
  if (scope.processes > 1 && random.chance(85)) {
    style.processes = scope.processes;
    style.ops += 15;
    style.granules =
        std::min(style.granules, 8u);  // fewer places, so that calls more often share one
    style.enabled |= bit(Code::kExport) | bit(Code::kImport) | bit(Code::kSetAccess);
    if (random.chance(30)) style.enabled |= kLegacy | bit(Code::kMemFree);
  }
  // Drawn last, and only where the driver has the calls, so that the programs of other seeds do not
  // change.
  style.endpoints = scope.multicast && scope.endpoints && random.chance(50);
  if (style.endpoints) style.enabled |= from_to(Code::kEpReserve, Code::kFabricCopy);
  if (scope.further) add_further(random, scope.tiles, style);
  return style;
}

}  // namespace cuvmm::fuzz
