// SPDX-License-Identifier: Apache-2.0
// The symbols that a libcuda exports for the entry points, and how cuGetProcAddress hands them out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "api/symbols/symbol_info.h"

namespace cuvmm {

/// Every line of entry_points.def, indexed by Symbol.
std::span<const SymbolInfo> symbols();

/// The newest CUDA version whose ABIs entry_points.def was checked against (13.5).
inline constexpr int kNewestKnownVersion = 13050;

/// The symbol that a driver hands out for this query. Nothing if no entry point has the query, or
/// if `version` is newer than kNewestKnownVersion: the ABI may have changed, so pass the query
/// through. `flags` is cuGetProcAddress's: bit 1 asks for per-thread streams, and falls back to the
/// legacy ABI where no such variant exists.
std::optional<Symbol> resolve(std::string_view query, int version, std::uint64_t flags);

}  // namespace cuvmm
