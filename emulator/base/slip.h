// SPDX-License-Identifier: Apache-2.0
// What the deliberate mistakes of CUVMM_MUTATION="slip ..." share.
#pragma once

#include "emulator/machine/physical.h"

namespace cuvmm::emulator {

/// Replaces shared memory by a copy of its contents, so that it is not shared any more.
void unshare(Physical& memory);

}  // namespace cuvmm::emulator
