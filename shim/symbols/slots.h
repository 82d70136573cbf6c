// SPDX-License-Identifier: Apache-2.0
// The targets of the exported driver symbols.
#pragma once

#include <string_view>

namespace cuvmm::shim {

/// The function behind the exported symbol `name`: a wrapper, cuvmm's cuGetProcAddress, a refusal,
/// the driver's own function, or a stand-in if the driver has none. Opens the driver. Never null.
void* target_of(std::string_view name);

}  // namespace cuvmm::shim
