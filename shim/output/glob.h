// SPDX-License-Identifier: Apache-2.0
// Patterns of file names, of functions and of rules.
#pragma once

#include "live/frames/glob.h"

namespace cuvmm::shim {

using live::glob_matches;

}  // namespace cuvmm::shim
