// SPDX-License-Identifier: Apache-2.0
// How the areas query the behaviours of the profile's driver that the rules do not describe
// (rulebook/profile/quirk.h).
#pragma once

#include <optional>

#include "emulator/core/emulator.h"

namespace cuvmm::emulator {

/// The answer of the profile's driver to a call to which its quirk applies (`holds`); nothing where
/// the driver lacks the quirk.
inline std::optional<CUresult> answer(const Emulator& e, Quirk quirk, bool holds) {
  if (!holds || !e.profile.has(quirk)) return std::nullopt;
  return info(quirk).code;
}

/// Whether the profile says that devices lack the feature of this CUdevice_attribute.
inline bool lacks(const Emulator& e, int attribute) {
  return e.profile.attribute(attribute, e.device_count()) == 0;
}

}  // namespace cuvmm::emulator
