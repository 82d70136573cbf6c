// SPDX-License-Identifier: Apache-2.0
// Makes programs about objects.
#pragma once

#include "fuzz/generate/random.h"
#include "fuzz/objects/op.h"

namespace cuvmm::fuzz::objects {

/// A program of some areas. It may have calls that the reference leaves out.
Ops make_program(Random& random);

}  // namespace cuvmm::fuzz::objects
