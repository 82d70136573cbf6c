// SPDX-License-Identifier: Apache-2.0
// What there is to know of the addresses of a copy that a driver refused (check_refused_touches()).
#pragma once

#include "rulebook/check/touch.h"

namespace cuvmm {

/// Whether the parameter takes device memory. Any other address may be the host's own by now: the
/// allocator of the program, which nobody sees, gives addresses out again. Where the host can read
/// there, what ended there says nothing.
bool names_device(const Touch& touch);

}  // namespace cuvmm
