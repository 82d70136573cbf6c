// SPDX-License-Identifier: Apache-2.0
// Sizes that everything here is made of, in bytes.
#pragma once

#include <cstdint>

namespace cuvmm {

/// A page of the host.
inline constexpr std::uint64_t kPage = 4096;
/// What physical memory of a device comes in, on every device that was asked.
inline constexpr std::uint64_t kGranule = std::uint64_t{2} << 20;

}  // namespace cuvmm
