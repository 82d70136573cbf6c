// What a driver does that is neither documented nor a broken rule: found by running generated
// programs on it (docs/fuzzing.md). A profile names the quirks that its driver has.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace cuvmm {

enum class Quirk : std::uint8_t {
  kTilePoolSize,
  kExtCompressedElsewhere,
  kPropertiesNormalised,
  kAccessPartial,
  kAccessToHole,
  kFillElsewhere,
  kRangeContext,
  kRangeMixed,
  kRangePcie,
  kCount
};

struct QuirkInfo {
  const char* id;    ///< as profiles write it
  CUresult code;     ///< what the driver answers; SUCCESS where it only does something else
  const char* what;  ///< one sentence
};

const QuirkInfo& info(Quirk quirk);
std::optional<Quirk> find_quirk(std::string_view id);

}  // namespace cuvmm
