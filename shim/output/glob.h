// SPDX-License-Identifier: Apache-2.0
// Patterns of file names, of functions and of rules.
#pragma once

#include "frames/glob.h"

namespace cuvmm::shim {

using frames::glob_matches;

}  // namespace cuvmm::shim
