// SPDX-License-Identifier: Apache-2.0
// Memory that was never freed. A program may keep memory to its end, but a test that looks for
// everything it left behind may not.
#pragma once

#include "rulebook/base/violation.h"
#include "rulebook/model/model.h"

namespace cuvmm {

/// One kMemoryLeft for each live piece of plain memory, memory of a pool, and array.
Violations memory_left(const Model& model);

}  // namespace cuvmm
