// SPDX-License-Identifier: Apache-2.0
// What is said of a refusal that the surroundings may explain: which devices the process sees, and
// that a context has ended.
#pragma once

#include <cuda.h>

#include <string>
#include <vector>

#include "shim/refusals/refusal.h"

namespace cuvmm::shim {

/// Whether the code says that there is no such device, and CUDA_VISIBLE_DEVICES is set.
bool may_be_hidden(CUresult result);
/// What it is set to.
std::string visible_devices();
/// `context_end`: the last call that ended a context; call 0: none.
void add_surroundings(CUresult result, const Origin& context_end,
                      std::vector<Refusal::Aside>& asides);

}  // namespace cuvmm::shim
