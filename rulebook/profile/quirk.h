// SPDX-License-Identifier: Apache-2.0
// What a driver does beyond the rules: it is not documented, and no rule is broken. Quirks were
// found by running generated programs on drivers (docs/fuzzing.md). A profile names those of its
// driver.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace cuvmm {

enum class Quirk : std::uint8_t {
  kTilePoolSize,
  kExportableBelow4G,
  kExtCompressedElsewhere,
  kPropertiesNormalised,
  kAccessPartial,
  kAccessToHole,
  kFillElsewhere,
  kRangeContext,
  kRangeMixed,
  kRangePcie,
  kPoolCurrentNode,
  kPoolInvisible,
  kPoolNoDescriptor,
  kNoDecompression,
  kNoFlush,
  kFillFault,
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
