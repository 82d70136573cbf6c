// SPDX-License-Identifier: Apache-2.0
// The symbols a libcuda exports for our entry points, and how cuGetProcAddress hands them out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "api/calls.h"

namespace cuvmm {

/// One CUVMM_SYMBOL line whose ABI is one of ours, in the order of entry_points.def.
enum class Symbol : std::uint16_t {
#define CUVMM_SYMBOL(Name, symbol, query, version, flags) k_##symbol,
#include "api/entry_points.def"
  kCount
};

/// What one (query, version, flags) triple of cuGetProcAddress stands for.
struct SymbolInfo {
  Symbol symbol;
  const char* name;   ///< exported name, e.g. "cuMemcpyHtoD_v2_ptds"
  const char* query;  ///< name to ask cuGetProcAddress for, e.g. "cuMemcpyHtoD"
  int version;        ///< CUDA version that introduced this ABI, e.g. 3020
  unsigned flags;     ///< 0, or 2 for the per-thread default stream
  EntryPoint entry;   ///< EntryPoint::kCount when the ABI is not one of our entry points
};

/// Every line of entry_points.def, indexed by Symbol.
std::span<const SymbolInfo> symbols();

/// The newest CUDA version whose ABIs entry_points.def was checked against (13.5).
inline constexpr int kNewestKnownVersion = 13050;

/// The symbol that a driver hands out for this query, or nothing when the query is not ours or when
/// `version` is newer than kNewestKnownVersion (the ABI may have changed: pass it through).
/// `flags` is cuGetProcAddress's: bit 1 asks for per-thread streams and falls back to the legacy
/// ABI where no such variant exists.
std::optional<Symbol> resolve(std::string_view query, int version, std::uint64_t flags);

}  // namespace cuvmm
