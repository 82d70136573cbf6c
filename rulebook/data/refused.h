// SPDX-License-Identifier: Apache-2.0
// Facts about the addresses of a copy that a driver refused (check_refused_touches()).
#pragma once

#include "rulebook/check/touch.h"

namespace cuvmm {

/// Whether the parameter takes device memory. Memory that ended explains nothing about any other
/// address that the host can read, because the program's allocator, which cuvmm does not see, may
/// have given the address out again.
bool names_device(const Touch& touch);

}  // namespace cuvmm
