// SPDX-License-Identifier: Apache-2.0
// Facts about a refusal that its surroundings may explain: the devices that the process sees, the
// end of a context, and a driver that was not initialised in this process.
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
/// Whether no cuInit has succeeded in this process, as far as the shim saw.
bool never_initialized() noexcept;
/// Why a call answered CUDA_ERROR_NOT_INITIALIZED in a process for which never_initialized() holds.
std::string uninitialized_text();

/// Why the driver does not work in this process, a child of fork: `from` is the process whose
/// cuInit came before the fork.
std::string forked_text(int from);
inline constexpr const char* kForkedFix =
    "Start the child as a new program (exec; in Python: "
    "multiprocessing.set_start_method(\"spawn\")), or fork before the first call of CUDA.";

}  // namespace cuvmm::shim
