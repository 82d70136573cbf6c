// SPDX-License-Identifier: Apache-2.0
// Behaviour of a driver that is not documented and breaks no rule. Quirks come from generated
// programs that were run on drivers (docs/fuzzing.md). A profile names the quirks of its driver.
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
  kArrayNoGraphics,
  kWriteNoFlags,
  kAdviceOfNode,
  kManagedContext,
  kFaultOfDevice,
  kCount
};

struct QuirkInfo {
  const char* id;    ///< as profiles write it
  CUresult code;     ///< the driver's answer; SUCCESS where the quirk changes no answer
  const char* what;  ///< one sentence
};

const QuirkInfo& info(Quirk quirk);
std::optional<Quirk> find_quirk(std::string_view id);

}  // namespace cuvmm
