// SPDX-License-Identifier: Apache-2.0
// Where each exported driver symbol jumps to.
#pragma once

#include <string_view>

namespace cuvmm::shim {

/// The function behind the exported symbol `name`: a wrapper, our cuGetProcAddress, a refusal, the
/// driver's own, or a stand-in when the driver has none. Opens the driver. Never null.
void* target_of(std::string_view name);

}  // namespace cuvmm::shim
