// SPDX-License-Identifier: Apache-2.0
// Bounds that the model sets to whoever feeds it.
#pragma once

namespace cuvmm {

/// Device ordinals are bits of the model's access masks (AccessMask in rulebook/model/model.h), of
/// which the last two have another meaning.
inline constexpr int kMaxDevices = 62;

}  // namespace cuvmm
