// SPDX-License-Identifier: Apache-2.0
// Memory that was never freed. A program may keep it to its end; a test that looks for all that it
// left behind may not.
#pragma once

#include "rulebook/base/violation.h"
#include "rulebook/model/model.h"

namespace cuvmm {

/// Plain memory, memory of pools, and arrays that are there, each as kMemoryLeft.
Violations memory_left(const Model& model);

}  // namespace cuvmm
