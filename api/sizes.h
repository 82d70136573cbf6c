// SPDX-License-Identifier: Apache-2.0
// Sizes, in bytes, that all of cuvmm uses.
#pragma once

#include <cstdint>

namespace cuvmm {

/// A page of the host.
inline constexpr std::uint64_t kPage = 4096;
/// The granularity of a device's physical memory, on every device that was asked.
inline constexpr std::uint64_t kGranule = std::uint64_t{2} << 20;

}  // namespace cuvmm
