// SPDX-License-Identifier: Apache-2.0
// The address space that this process has left.
#pragma once

#include <cstdint>
#include <string_view>

#include "shim/refusals/refusal.h"

namespace cuvmm::shim {

/// The largest range below 2^47 that a /proc/PID/maps text leaves free, in bytes. A driver reserves
/// with the kernel's mmap, so it cannot find a larger range either.
std::uint64_t largest_free_range(std::string_view maps);

/// The facts of this process. Reads /proc/self/maps.
AddressFacts address_facts(const Model& model);

}  // namespace cuvmm::shim
