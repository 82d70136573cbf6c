// SPDX-License-Identifier: Apache-2.0
// How the areas ask for what the profile's driver does beyond the rules
// (rulebook/profile/quirk.h).
#pragma once

#include <optional>

#include "emulator/core/emulator.h"

namespace cuvmm::emulator {

/// What the profile's driver answers where `holds` is what its quirk is about.
inline std::optional<CUresult> answer(const Emulator& e, Quirk quirk, bool holds) {
  if (!holds || !e.profile.has(quirk)) return std::nullopt;
  return info(quirk).code;
}

/// Whether the profile says that devices lack what this CUdevice_attribute is about.
inline bool lacks(const Emulator& e, int attribute) {
  return e.profile.attribute(attribute, e.device_count()) == 0;
}

}  // namespace cuvmm::emulator
