// SPDX-License-Identifier: Apache-2.0
// Barriers in shared memory, for the instructions that signal them.
#pragma once

#include <cstdint>

#include "kernels/instruction/site.h"

namespace cuvmm::kernels {

/// `bytes` of those that the barrier at `at` expects have arrived.
void complete_bytes(char* at, std::uint64_t bytes);

/// Decodes cp.async.mbarrier.arrive, whose modifiers `mbarrier` and `arrive` are taken.
void decode_copy_arrival(Site& site);

}  // namespace cuvmm::kernels
