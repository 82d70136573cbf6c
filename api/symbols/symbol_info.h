// SPDX-License-Identifier: Apache-2.0
// The description of a symbol of api/entry_points.def.
#pragma once

#include <cstdint>

#include "api/calls.h"

namespace cuvmm {

/// One enumerator per CUVMM_SYMBOL line, in the order of entry_points.def.
enum class Symbol : std::uint16_t {
#define CUVMM_SYMBOL(Name, symbol, query, version, flags) k_##symbol,
#include "api/entry_points.def"
  kCount
};

/// The meaning of one (query, version, flags) triple of cuGetProcAddress.
struct SymbolInfo {
  Symbol symbol;
  const char* name;   ///< exported name, e.g. "cuMemcpyHtoD_v2_ptds"
  const char* query;  ///< name to ask cuGetProcAddress for, e.g. "cuMemcpyHtoD"
  int version;        ///< CUDA version that introduced this ABI, e.g. 3020
  unsigned flags;     ///< 0, or 2 for the per-thread default stream
  EntryPoint entry;   ///< EntryPoint::kCount if the ABI belongs to no entry point
};

}  // namespace cuvmm
