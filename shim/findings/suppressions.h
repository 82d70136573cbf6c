// SPDX-License-Identifier: Apache-2.0
// Findings that the user does not want to see: the shim and the command `cuvmm` read one file
// format.
#pragma once

#include "frames/suppressions.h"

namespace cuvmm::shim {

using frames::Suppressions;

}  // namespace cuvmm::shim
