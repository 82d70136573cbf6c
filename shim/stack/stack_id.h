// SPDX-License-Identifier: Apache-2.0
// The number of a stored stack, and the limits of the store.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cuvmm::shim {

/// 1-based; 0 is "no stack".
using StackId = std::uint32_t;

inline constexpr std::size_t kMaxFrames = 48;
inline constexpr std::size_t kMostStacks = 1 << 16;  ///< ids are 1 to this number

/// A small number for the name of a function, not 0 or 0xffff.
using FunctionTag = std::uint16_t;

}  // namespace cuvmm::shim
