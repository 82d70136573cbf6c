// SPDX-License-Identifier: Apache-2.0
// Copies between a tensor in global memory and shared memory.
#pragma once

#include "kernels/instruction/site.h"

namespace cuvmm::kernels {

/// Decodes cp.async.bulk.tensor; the modifiers up to `tensor` are taken.
void decode_tensor_copy(Site& site);

}  // namespace cuvmm::kernels
