// SPDX-License-Identifier: Apache-2.0
// Facts about a refusal that its surroundings may explain: the devices that the process sees, and
// the end of a context.
#pragma once

#include <cuda.h>

#include <string>
#include <vector>

#include "shim/refusals/refusal.h"

namespace cuvmm::shim {

/// Whether the code means that there is no such device, and CUDA_VISIBLE_DEVICES is set.
bool may_be_hidden(CUresult result);
/// The value of CUDA_VISIBLE_DEVICES, as a text.
std::string visible_devices();
/// `context_end`: the last call that ended a context; call 0: none.
void add_surroundings(CUresult result, const Origin& context_end,
                      std::vector<Refusal::Aside>& asides);

/// Called with the answer of each cuInit.
void note_init(CUresult result) noexcept;
/// The answer of the last cuInit, if it failed; else CUDA_SUCCESS.
CUresult failed_init() noexcept;

}  // namespace cuvmm::shim
